/*
 * cli/left.c - prints what a command left in a workspace on which host programs act.
 *
 * Room: cli (joining, program). Touches: fd (standard error).
 * Theory: the payload chose names and keys, so control bytes are escaped.
 */
#include "cli/left.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/finding_print.h"
#include "git/config.h"
#include "outcome/left.h"
#include "wire/message.h"

static struct left_behind
view_of(const struct run_kept *k)
{
        return (struct left_behind){ k->what, k->name, k->place, k->key };
}

/* -- for programs ------------------------------------------------------------------------------ */

static void
write_runs(struct json_writer *out, const char *runs)
{
        char name[LEFT_NAME_ROOM];

        json_key(out, "runs");
        json_open_list(out);
        while (left_next(&runs, name)) {
                json_open_map(out);
                json_member_text(out, "name", name);
                json_member_text(out, "effect", git_config_effect(name));
                json_close_map(out);
        }
        json_close_list(out);
}

/* The first is the entry's name. */
static void
write_folded(struct json_writer *out, const struct left_behind *l)
{
        const char *at = l->kept;
        char name[LEFT_NAME_ROOM];

        json_member_int(out, "count", (int64_t)left_count(l));
        json_key(out, "others");
        json_open_list(out);
        while (left_next(&at, name))
                json_text(out, name);
        json_close_list(out);
}

static void
write_one(struct json_writer *out, const struct left_behind *l)
{
        char command[LEFT_COMMAND_ROOM];

        json_member_text(out, "name", l->name);
        json_member_text(out, "what", left_word(l->what));
        if (left_is_repository(l->what)) {
                write_runs(out, l->kept);
                left_look(l, command);
                json_member_text(out, "look", command);
        } else if (left_is_folded(l->what)) {
                write_folded(out, l);
        } else if (l->what == KEPT_BOUND) {
                json_member_text(out, "directories", l->kept);
        } else if (l->kept[0] != '\0') {
                json_member_text(out, "kept_at", l->kept);
        }
        if (l->what == KEPT_RESTORED) {
                json_member_text(out, "key", l->key);
                json_member_text(out, "effect", left_effect(l));
        }
}

void
left_write_json(struct json_writer *w, const struct run_result *r)
{
        json_key(w, "left_behind");
        json_open_list(w);
        for (size_t i = 0; i < r->kept_count; i++) {
                struct left_behind l = view_of(&r->kept[i]);

                json_open_map(w);
                write_one(w, &l);
                json_close_map(w);
        }
        json_close_list(w);
}

/* -- for people -------------------------------------------------------------------------------- */

static void
print_line(const char *message)
{
        (void)fputs("carrel: ", stderr);
        print_escaped(stderr, message, false);
        (void)fputc('\n', stderr);
}

void
left_print(const struct run_result *r)
{
        char message[LEFT_MESSAGE_ROOM];

        for (size_t i = 0; i < r->kept_count; i++) {
                struct left_behind l = view_of(&r->kept[i]);

                left_message(&l, message);
                print_line(message);
        }
}

static bool
is_asked_for(const struct carrel_left *l, bool only_new)
{
        return !only_new || !l->was_shown;
}

/* What was put right may be found again, with the same words. */
static bool
is_printed(const struct carrel_lefts *all, size_t at, bool only_new)
{
        for (size_t i = 0; i < at; i++)
                if (is_asked_for(&all->items[i], only_new) &&
                    strcmp(all->items[i].message, all->items[at].message) == 0)
                        return true;
        return false;
}

void
left_print_all(const struct carrel_lefts *all, const char *id, bool only_new)
{
        (void)fflush(stdout); /* the lines come after what was printed before */
        for (size_t i = 0; i < all->count; i++)
                if (is_asked_for(&all->items[i], only_new) && !is_printed(all, i, only_new))
                        print_line(all->items[i].message);
        if (all->more > 0)
                (void)fprintf(stderr,
                              "carrel: %" PRIu64
                              " more of this kind in the workspace of %s are not "
                              "listed\n",
                              all->more, id);
}
