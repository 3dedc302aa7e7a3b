/*
 * cli/left.c - prints what a command left in a workspace on which host programs act.
 *
 * Room: cli (joining, program). Touches: fd (standard error).
 * Theory: the payload chose names and keys, so control bytes are escaped, and text for a shell is
 * quoted.
 */
#include "cli/left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/finding_print.h"
#include "git/config.h"
#include "wire/message.h"

enum { COMMAND_ROOM = 8192 };

static const struct {
        const char *word, *sentence;
} words[KEPT_WHAT_MAX] = {
        [KEPT_MOVED] = { "moved", "was made by the command and moved out of the workspace, because "
                                  "programs of the host act on it. Take it back with:" },
        [KEPT_MADE] = { "made", "was made by the command. Programs of the host act on it: look at "
                                "its configuration and hooks first." },
        [KEPT_CHANGED] = { "changed", "was changed by the command. Programs of the host act on it: "
                                      "look at the change first." },
        [KEPT_STUCK] = { "stuck",
                         "was made by the command, could not be moved out of the workspace, and "
                         "the command was killed. Programs of the host act on it." },
        [KEPT_STRICT] = { "refused", "was made by the command, so the command was killed "
                                     "(metadata.carrel.protect: strict). It is now at" },
        [KEPT_RESTORED] = { "restored", "was changed by the command and put back as it was:" },
        [KEPT_REPOSITORY] = { "repository", "is a repository that the command made or changed." },
        [KEPT_BARE] = { "bare-repository",
                        "is a bare repository that the command made or changed." },
        [KEPT_GITLINK] = { "gitlink", "was registered in the repository's index by the command (a "
                                      "gitlink), so that git status looks into it." },
        [KEPT_SUBMODULE] = { "submodule",
                             "is a submodule's repository that the command made or changed." },
        [KEPT_GITFILE] = { "gitfile", "leads git to another repository, and was made or changed by "
                                      "the command." },
        [KEPT_INDEX] = { "index-unread", "was changed by the command, and Carrel cannot read it: "
                                         "gitlinks in it were not compared." },
        [KEPT_MORE] = { "more", "holds more repositories that the command made or changed than are "
                                "reported here." },
        [KEPT_BOUND] = { "bounded", "has more directories than Carrel searches for repositories "
                                    "and names that the command made or changed." },
        [KEPT_CHANGED_BELOW] = { "changed", "was changed by the command. Programs of the host act "
                                            "on it: look at the change first." },
        [KEPT_PACKAGES] = { "in-package", "was made by the command in an installed package, and "
                                          "left there. Programs of the host act on it when you "
                                          "enter or open that directory." },
        [KEPT_WITHIN] = { "in-repository",
                          "was made by the command in a repository within the workspace, and left "
                          "there. Programs of the host act on it: look at it before you enter or "
                          "open that directory." },
        [KEPT_CLOSED] = { "closed", "is a directory that the command made or changed and that "
                                    "Carrel cannot list, so it was not searched for names that "
                                    "programs of the host act on." },
};

static bool
is_folded(unsigned what)
{
        return what >= KEPT_CHANGED_BELOW && what <= KEPT_CLOSED;
}

static bool
is_repository(unsigned what)
{
        return what >= KEPT_REPOSITORY && what <= KEPT_GITFILE;
}

/* For a configuration: why it was restored. */
static const char *
effect_of(const struct run_kept *k)
{
        return k->key[0] != '\0' ? git_config_effect(k->key) : "it cannot be read to its end";
}

/* -- commands
 * ----------------------------------------------------------------------------------------------------
 */

static void
add(char *command, const char *text)
{
        size_t len = strlen(command);

        (void)snprintf(command + len, COMMAND_ROOM - len, "%s", text);
}

/* Quotes for a shell, in single quotes. */
static void
add_quoted(char *command, const char *name, const char *more)
{
        add(command, "'");
        for (; *name != '\0'; name += strcspn(name, "'"), name += *name == '\'') {
                char piece[1100];

                (void)snprintf(piece, sizeof piece, "%.*s", (int)strcspn(name, "'"), name);
                add(command, piece);
                if (name[strcspn(name, "'")] == '\'')
                        add(command, "'\\''");
        }
        add(command, more);
        add(command, "'");
}

static void
add_move(char *command, const struct run_kept *k)
{
        add(command, "mv ");
        add_quoted(command, k->place, "");
        add(command, " ");
        add_quoted(command, k->name, "");
}

/*
 * The command that shows it without git, which would run what it shows; "" if there is nothing to
 * show.
 */
static void
add_look(char *command, const struct run_kept *k)
{
        const char *git = k->what == KEPT_GITLINK ? "/.git" : "";
        char part[32];

        if (k->what == KEPT_GITFILE) {
                add(command, "ls -l ");
                add_quoted(command, k->name, "");
                add(command, "; cat -v ");
                add_quoted(command, k->name, "");
                return;
        }
        if (!is_repository(k->what))
                return;
        add(command, "cat -v ");
        (void)snprintf(part, sizeof part, "%s/config", git);
        add_quoted(command, k->name, part);
        add(command, "; ls -l ");
        (void)snprintf(part, sizeof part, "%s/hooks", git);
        add_quoted(command, k->name, part);
}

/* -- for programs
 * ------------------------------------------------------------------------------------------------
 */

static void
write_runs(struct json_writer *out, const char *runs)
{
        json_key(out, "runs");
        json_open_list(out);
        for (const char *at = runs; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
                char name[GIT_KEY_ROOM];

                (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
                json_open_map(out);
                json_member_text(out, "name", name);
                json_member_text(out, "effect", git_config_effect(name));
                json_close_map(out);
        }
        json_close_list(out);
}

/* The first is the entry's name. */
static void
write_folded(struct json_writer *out, const struct run_kept *k)
{
        json_member_int(out, "count", strtol(k->key, NULL, 10));
        json_key(out, "others");
        json_open_list(out);
        for (const char *at = k->place; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
                char name[sizeof k->place];

                (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
                json_text(out, name);
        }
        json_close_list(out);
}

static void
write_one(struct json_writer *out, const struct run_kept *k)
{
        char command[COMMAND_ROOM] = "";

        json_member_text(out, "name", k->name);
        json_member_text(out, "what", words[k->what].word);
        if (is_repository(k->what)) {
                write_runs(out, k->place);
                add_look(command, k);
                json_member_text(out, "look", command);
        } else if (is_folded(k->what)) {
                write_folded(out, k);
        } else if (k->what == KEPT_BOUND) {
                json_member_text(out, "directories", k->place);
        } else if (k->place[0] != '\0') {
                json_member_text(out, "kept_at", k->place);
        }
        if (k->what == KEPT_RESTORED) {
                json_member_text(out, "key", k->key);
                json_member_text(out, "effect", effect_of(k));
        }
}

void
left_write_json(struct json_writer *w, const struct run_result *r)
{
        json_key(w, "left_behind");
        json_open_list(w);
        for (size_t i = 0; i < r->kept_count; i++) {
                json_open_map(w);
                write_one(w, &r->kept[i]);
                json_close_map(w);
        }
        json_close_list(w);
}

/* -- for people
 * --------------------------------------------------------------------------------------------------
 */

static void
print_runs(const char *runs)
{
        if (runs[0] == '\0')
                (void)fputs(" Git finds nothing to run in it.", stderr);
        for (const char *at = runs; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
                char name[GIT_KEY_ROOM];

                (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
                (void)fputs(at == runs ? " " : "; ", stderr);
                print_escaped(stderr, name, false);
                (void)fprintf(stderr, ": %s", git_config_effect(name));
        }
        if (runs[0] != '\0')
                (void)fputc('.', stderr);
}

static void
print_repository(const struct run_kept *k)
{
        char command[COMMAND_ROOM] = "";

        print_runs(k->place);
        add_look(command, k);
        (void)fputs(" Look at it with: ", stderr);
        print_escaped(stderr, command, false);
}

static void
print_restored(const struct run_kept *k)
{
        char command[COMMAND_ROOM] = "";

        (void)fputc(' ', stderr);
        print_escaped(stderr, k->key, false);
        (void)fprintf(stderr, "%s%s.", k->key[0] != '\0' ? ": " : "", effect_of(k));
        if (k->place[0] == '\0')
                return;
        add_move(command, k);
        (void)fputs(" Look at the change, and take it with: ", stderr);
        print_escaped(stderr, command, false);
}

static void
print_folded(const struct run_kept *k)
{
        if (strcmp(k->key, "1") == 0)
                return;
        (void)fprintf(stderr, " There are %s:", k->key);
        (void)fputs(" this one", stderr);
        for (const char *at = k->place; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
                char name[sizeof k->place];

                (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
                (void)fputs(", ", stderr);
                print_escaped(stderr, name, false);
        }
        (void)fputs(".", stderr);
}

static void
print_one(const struct run_kept *k)
{
        char command[COMMAND_ROOM] = "";

        (void)fputs("carrel: ", stderr);
        print_escaped(stderr, k->name, false);
        (void)fprintf(stderr, " %s", words[k->what].sentence);
        if (is_repository(k->what)) {
                print_repository(k);
        } else if (k->what == KEPT_RESTORED) {
                print_restored(k);
        } else if (k->what == KEPT_MOVED) {
                add_move(command, k);
                (void)fputc(' ', stderr);
                print_escaped(stderr, command, false);
        } else if (k->what == KEPT_STRICT) {
                (void)fputc(' ', stderr);
                print_escaped(stderr, k->place, false);
        } else if (is_folded(k->what)) {
                print_folded(k);
        } else if (k->what == KEPT_BOUND) {
                (void)fputs(" Searched: ", stderr);
                print_escaped(stderr, k->place, false);
                (void)fputc('.', stderr);
        }
        (void)fputc('\n', stderr);
}

void
left_print(const struct run_result *r)
{
        for (size_t i = 0; i < r->kept_count; i++)
                print_one(&r->kept[i]);
}
