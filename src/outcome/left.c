/*
 * outcome/left.c - what commands left in a workspace on which host programs act.
 *
 * Room: outcome (deciding, pure). Touches: nothing.
 * Theory: the payload chose names and keys, so text for a shell is quoted here. Whoever prints the
 * text escapes it.
 */
#include "outcome/left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/config.h"
#include "wire/message.h"

static const struct {
        const char *word, *sentence;
} rows[KEPT_WHAT_MAX] = {
        [KEPT_MOVED] = { "moved",
                         "was made by the command and moved out of the workspace, because programs "
                         "of the host act on it. Take it back with:" },
        [KEPT_MADE] = { "made",
                        "was made by the command. Programs of the host act on it: look at its "
                        "configuration and hooks first." },
        [KEPT_CHANGED] = { "changed",
                           "was changed by the command. Programs of the host act on it: look at "
                           "the change first." },
        [KEPT_STUCK] = { "stuck",
                         "was made by the command, could not be moved out of the workspace, and "
                         "the command was killed. Programs of the host act on it." },
        [KEPT_STRICT] = { "refused", "was made by the command, so the command was killed "
                                     "(metadata.carrel.protect: strict). It is now at" },
        [KEPT_RESTORED] = { "restored", "was changed by the command and put back as it was:" },
        [KEPT_REPOSITORY] = { "repository", "is a repository that the command made or changed." },
        [KEPT_BARE] = { "bare-repository",
                        "is a bare repository that the command made or changed." },
        [KEPT_GITLINK] = { "gitlink",
                           "was registered in the repository's index by the command (a gitlink), "
                           "so that git status looks into it." },
        [KEPT_SUBMODULE] = { "submodule",
                             "is a submodule's repository that the command made or changed." },
        [KEPT_GITFILE] = { "gitfile",
                           "leads git to another repository, and was made or changed by the "
                           "command." },
        [KEPT_INDEX] = { "index-unread",
                         "was changed by the command, and Carrel cannot read it: gitlinks in it "
                         "were not compared." },
        [KEPT_MORE] = { "more", "holds more repositories that the command made or changed than are "
                                "reported here." },
        [KEPT_BOUND] = { "bounded",
                         "has more directories than Carrel searches for repositories and names "
                         "that the command made or changed." },
        [KEPT_CHANGED_BELOW] = { "changed",
                                 "was changed by the command. Programs of the host act on it: look "
                                 "at the change first." },
        [KEPT_PACKAGES] = { "in-package",
                            "was made by the command in an installed package, and left there. "
                            "Programs of the host act on it when you enter or open that "
                            "directory." },
        [KEPT_WITHIN] = { "in-repository",
                          "was made by the command in a repository within the workspace, and left "
                          "there. Programs of the host act on it: look at it before you enter or "
                          "open that directory." },
        [KEPT_CLOSED] = { "closed",
                          "is a directory that the command made or changed and that Carrel cannot "
                          "list, so it was not searched for names that programs of the host act "
                          "on." },
};

const char *
left_word(unsigned what)
{
        return what < KEPT_WHAT_MAX ? rows[what].word : NULL;
}

bool
left_is_repository(unsigned what)
{
        return what >= KEPT_REPOSITORY && what <= KEPT_GITFILE;
}

bool
left_is_folded(unsigned what)
{
        return what >= KEPT_CHANGED_BELOW && what <= KEPT_CLOSED;
}

uint64_t
left_count(const struct left_behind *l)
{
        uint64_t count = left_is_folded(l->what) ? strtoull(l->key, NULL, 10) : 1;

        return count > 0 ? count : 1;
}

bool
left_next(const char **at, char *ret)
{
        size_t len = strcspn(*at, "\n");

        if (**at == '\0')
                return false;
        (void)snprintf(ret, LEFT_NAME_ROOM, "%.*s", (int)len, *at);
        *at += len + ((*at)[len] == '\n');
        return true;
}

const char *
left_effect(const struct left_behind *l)
{
        return l->key[0] != '\0' ? git_config_effect(l->key) : "it cannot be read to its end";
}

/* -- text of a bounded length ------------------------------------------------------------------ */

struct text {
        char *at;
        size_t len, room;
};

static void
add(struct text *t, const char *text)
{
        int len = snprintf(t->at + t->len, t->room - t->len, "%s", text);

        t->len += (size_t)len < t->room - t->len ? (size_t)len : t->room - t->len - 1;
}

/* Quotes for a shell, in single quotes. */
static void
add_quoted(struct text *t, const char *name, const char *more)
{
        char piece[2] = { '\0' };

        add(t, "'");
        for (; *name != '\0'; name++) {
                piece[0] = *name;
                add(t, *name == '\'' ? "'\\''" : piece);
        }
        add(t, more);
        add(t, "'");
}

/* -- commands ---------------------------------------------------------------------------------- */

static void
add_move(struct text *t, const struct left_behind *l)
{
        add(t, "mv ");
        add_quoted(t, l->kept, "");
        add(t, " ");
        add_quoted(t, l->name, "");
}

static void
add_look(struct text *t, const struct left_behind *l)
{
        bool is_link = l->what == KEPT_GITLINK, is_file = l->what == KEPT_GITFILE;

        if (!left_is_repository(l->what))
                return;
        add(t, is_file ? "ls -l " : "cat -v ");
        add_quoted(t, l->name, is_file ? "" : is_link ? "/.git/config" : "/config");
        add(t, is_file ? "; cat -v " : "; ls -l ");
        add_quoted(t, l->name, is_file ? "" : is_link ? "/.git/hooks" : "/hooks");
}

void
left_look(const struct left_behind *l, char *ret)
{
        struct text t = { ret, 0, LEFT_COMMAND_ROOM };

        *ret = '\0';
        add_look(&t, l);
}

/* -- the sentence ------------------------------------------------------------------------------ */

static void
add_repository(struct text *t, const struct left_behind *l)
{
        const char *at = l->kept;
        char name[LEFT_NAME_ROOM];

        if (*at == '\0')
                add(t, " Git finds nothing to run in it.");
        for (bool is_first = true; left_next(&at, name); is_first = false) {
                add(t, is_first ? " " : "; ");
                add(t, name);
                add(t, ": ");
                add(t, git_config_effect(name));
                add(t, *at == '\0' ? "." : "");
        }
        add(t, " Look at it with: ");
        add_look(t, l);
}

static void
add_restored(struct text *t, const struct left_behind *l)
{
        add(t, " ");
        add(t, l->key);
        add(t, l->key[0] != '\0' ? ": " : "");
        add(t, left_effect(l));
        add(t, ".");
        if (l->kept[0] == '\0')
                return;
        add(t, " Look at the change, and take it with: ");
        add_move(t, l);
}

static void
add_folded(struct text *t, const struct left_behind *l)
{
        const char *at = l->kept;
        char name[LEFT_NAME_ROOM];

        if (left_count(l) == 1)
                return;
        add(t, " There are ");
        add(t, l->key);
        add(t, ": this one");
        while (left_next(&at, name)) {
                add(t, ", ");
                add(t, name);
        }
        add(t, ".");
}

void
left_message(const struct left_behind *l, char *ret)
{
        struct text t = { ret, 0, LEFT_MESSAGE_ROOM };

        *ret = '\0';
        if (!left_word(l->what))
                return;
        add(&t, l->name);
        add(&t, " ");
        add(&t, rows[l->what].sentence);
        if (left_is_repository(l->what)) {
                add_repository(&t, l);
        } else if (l->what == KEPT_RESTORED) {
                add_restored(&t, l);
        } else if (left_is_folded(l->what)) {
                add_folded(&t, l);
        } else if (l->what == KEPT_MOVED) {
                add(&t, " ");
                add_move(&t, l);
        } else if (l->what == KEPT_STRICT) {
                add(&t, " ");
                add(&t, l->kept);
        } else if (l->what == KEPT_BOUND) {
                add(&t, " Searched: ");
                add(&t, l->kept);
                add(&t, ".");
        }
}
