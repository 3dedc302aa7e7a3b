/*
 * cli/audit_compare.c - compares recorded commands with their replays, and prints the differences.
 *
 * Room: cli (joining). Touches: two audit logs, standard output.
 */
#include "cli/audit_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/content.h"
#include "base/buffer.h"
#include "cli/audit_place.h"
#include "cli/finding_print.h"
#include "recorder/message.h"
#include "text/json.h"

enum { PLACE_MEMORY = 64 * 1024 };

static const char *
or_none(const char *text)
{
        return text ? text : "none";
}

struct comparison {
        bool is_equal;
        bool is_known; /* the place */
        uint64_t byte, line;
};

static void
find_difference(const struct buffer *a, const struct buffer *b, struct comparison *c)
{
        size_t len = a->len < b->len ? a->len : b->len, i = 0;

        for (c->line = 1; i < len && a->bytes[i] == b->bytes[i]; i++)
                c->line += a->bytes[i] == '\n';
        c->byte = i;
        c->is_known = i < a->len || i < b->len;
}

/* The digests of the original bytes decide; the contents show where. */
static int
compare_stream(const struct audit_log *log, const struct audit_log *mine, const struct recording *a,
               const struct recording *b, const char *name, struct comparison *ret, struct error *e)
{
        const char *x = recording_text(node_find(a->ended, name), "sha256");
        const char *y = recording_text(node_find(b->ended, name), "sha256");
        const char *y_kept = recording_text(recording_stream(b, name), "sha256");
        struct buffer first = { 0 }, second = { 0 };
        int result = 0;

        *ret = (struct comparison){ .is_equal = x && y && strcmp(x, y) == 0 };
        if (!ret->is_equal && y_kept) {
                result = audit_content_read(
                        log, recording_text(recording_stream(a, name), "sha256"), &first, e);
                if (result == 0)
                        result = audit_content_read(mine, y_kept, &second, e);
                if (result == 0)
                        find_difference(&first, &second, ret);
        }
        buffer_fini(&first);
        buffer_fini(&second);
        return result;
}

static bool
is_same(const struct recording *a, const struct recording *b, const char *member)
{
        const char *x = recording_text(a->ended, member), *y = recording_text(b->ended, member);

        return (!x && !y) || (x && y && strcmp(x, y) == 0);
}

static void
print_stream(const char *name, const struct comparison *c)
{
        if (c->is_equal)
                (void)printf("%s: equal\n", name);
        else if (c->is_known)
                (void)printf("%s: differs at byte %" PRIu64 " (line %" PRIu64 ")\n", name, c->byte,
                             c->line);
        else
                (void)printf("%s: differs in a part that was not kept\n", name);
}

static void
write_stream(struct json_writer *w, const char *name, const struct comparison *c)
{
        json_key(w, name);
        json_open_map(w);
        json_member_bool(w, "equal", c->is_equal);
        if (!c->is_equal && c->is_known) {
                json_member_int(w, "byte", (int64_t)c->byte);
                json_member_int(w, "line", (int64_t)c->line);
        }
        json_close_map(w);
}

static void
print_ending(const struct recording *a, const struct recording *b, bool is_equal)
{
        (void)printf("outcome: %s %s", or_none(recording_text(a->ended, "outcome")),
                     or_none(recording_text(a->ended, "exit_code")));
        if (!is_equal)
                (void)printf(", now %s %s", or_none(recording_text(b->ended, "outcome")),
                             or_none(recording_text(b->ended, "exit_code")));
        (void)putchar('\n');
}

/* One command, and the same one again. */
struct pair {
        const struct recording *was;
        struct recording now; /* owned */
        char ref[RECORDER_REF_MAX];
        struct comparison out, err;
        bool same_ending, is_equal;
};

/* The members of one command. */
static void
write_pair(struct json_writer *w, const struct pair *p)
{
        char recorded[RECORDER_REF_MAX];

        (void)snprintf(recorded, sizeof recorded, "audit://%s/%" PRIu64, p->was->chain,
                       p->was->seq);
        if (p->was->operation)
                json_member_text(w, "operation", p->was->operation);
        json_member_text(w, "recording", recorded);
        json_member_text(w, "replay", p->ref);
        json_member_bool(w, "equal", p->is_equal);
        write_stream(w, "stdout", &p->out);
        write_stream(w, "stderr", &p->err);
        json_member_bool(w, "same_ending", p->same_ending);
}

/* The command that was asked for is the last one; those before it are in `before`. */
static int
write_report(const struct pair *pairs, size_t count, const struct audit_egress *egress,
             const struct audit_egress_again *again)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        write_pair(&w, &pairs[count - 1]);
        json_member_bool(&w, "replay_supported", !egress->reason);
        audit_egress_write(&w, egress, again);
        if (count > 1) {
                json_key(&w, "before");
                json_open_list(&w);
                for (size_t i = 0; i + 1 < count; i++) {
                        json_open_map(&w);
                        write_pair(&w, &pairs[i]);
                        json_close_map(&w);
                }
                json_close_list(&w);
        }
        json_close_map(&w);
        return json_print(&w, stdout);
}

static void
print_report(const struct pair *pairs, size_t count, const struct audit_egress *egress,
             const struct audit_egress_again *again)
{
        const struct pair *last = &pairs[count - 1];

        for (size_t i = 0; i + 1 < count; i++)
                (void)printf("before, %zu of %zu: %s (%s)\n", i + 1, count - 1,
                             pairs[i].is_equal ? "equal" : "differs", pairs[i].ref);
        print_stream("stdout", &last->out);
        print_stream("stderr", &last->err);
        print_ending(last->was, &last->now, last->same_ending);
        audit_egress_print(egress, again);
        (void)printf("replay: %s\n", last->ref);
}

/* The error because of which the replay never ran, as its entry has it. */
static int
not_run(const struct recording *b, struct error *e)
{
        const struct node *error = node_find(b->ended, "error");
        const char *reason = recording_text(error, "reason");

        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL,
                      reason && reason[0] != '\0' ? reason : "replay_failed",
                      "the replay could not run: %s", or_none(recording_text(error, "message")));
        error_hint(e, "docs/AUDIT.md, \"Replay\", says what a recording needs.");
        return -1;
}

static int
read_again(struct audit_log *mine, struct pair *p, struct error *e)
{
        recording_init(&p->now, strtoull(strrchr(p->ref, '/') + 1, NULL, 10));
        if (recording_read_refusal(mine, &p->now, e) < 0)
                return -1;
        return node_find(p->now.ended, "error") ? not_run(&p->now, e)
                                                : recording_read(mine, &p->now, e);
}

static int
compare(struct audit_log *log, struct audit_log *mine, struct pair *p, struct error *e)
{
        bool is_call = p->was->operation != NULL; /* it prints nothing */

        p->out.is_equal = p->err.is_equal = is_call;
        if (read_again(mine, p, e) < 0 ||
            (!is_call && (compare_stream(log, mine, p->was, &p->now, "stdout", &p->out, e) < 0 ||
                          compare_stream(log, mine, p->was, &p->now, "stderr", &p->err, e) < 0)))
                return -1;
        p->same_ending = is_same(p->was, &p->now, "outcome") &&
                         is_same(p->was, &p->now, "exit_code") &&
                         is_same(p->was, &p->now, "signal");
        p->is_equal = p->same_ending && p->out.is_equal && p->err.is_equal;
        return 0;
}

/* Takes the next of the references. */
static int
next_ref(char **refs, char ret[RECORDER_REF_MAX], struct error *e)
{
        const char *ref = strsep(refs, "\n");

        if (!ref || !strrchr(ref, '/'))
                return fail(e, ERROR_BACKEND_FAILED,
                            "the replay ended before all commands had run");
        (void)snprintf(ret, RECORDER_REF_MAX, "%s", ref);
        return 0;
}

static int
compare_all(struct audit_log *log, const struct recordings *all, struct pair *pairs,
            struct audit_egress *egress, struct audit_egress_again *again, char *refs,
            struct error *e)
{
        struct audit_log mine = { .dir = -1 };
        struct arena arena;
        const char *path;
        int result;

        arena_init(&arena, PLACE_MEMORY);
        result = audit_place(&arena, NULL, NULL, &path, e) < 0 ||
                                 audit_log_open(&mine, path, false, e) < 0
                         ? -1
                         : 0;
        for (size_t i = 0; i < all->count && result == 0; i++) {
                pairs[i].was = &all->of[i];
                result = next_ref(&refs, pairs[i].ref, e) < 0 ? -1
                                                              : compare(log, &mine, &pairs[i], e);
        }
        if (result == 0)
                result = audit_egress_compare(egress, &mine, &pairs[all->count - 1].now, again, e);
        audit_log_close(&mine);
        arena_fini(&arena);
        return result;
}

int
audit_compare(struct audit_log *log, const struct recordings *all, struct audit_egress *egress,
              char *refs, bool is_json, struct error *e)
{
        struct pair *pairs = calloc(all->count, sizeof *pairs);
        struct audit_egress_again again = { .is_equal = true };
        bool is_equal = true;
        int result;

        if (!pairs)
                return fail(e, ERROR_NO_MEMORY, "no memory for a comparison");
        result = compare_all(log, all, pairs, egress, &again, refs, e);
        if (result == 0)
                pairs[all->count - 1].is_equal &= again.is_equal;
        for (size_t i = 0; i < all->count && result == 0; i++)
                is_equal &= pairs[i].is_equal;
        if (result == 0 && is_json)
                result = write_report(pairs, all->count, egress, &again);
        else if (result == 0)
                print_report(pairs, all->count, egress, &again);
        for (size_t i = 0; i < all->count; i++)
                recording_fini(&pairs[i].now);
        audit_egress_fini(&again.now);
        free(pairs);
        return result < 0 ? -1 : !is_equal;
}
