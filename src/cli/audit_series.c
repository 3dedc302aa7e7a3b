/*
 * cli/audit_series.c - all that ran in a sandbox up to one command, for `carrel audit replay`.
 *
 * Room: cli (joining). Touches: the audit log.
 * Theory: the start of a later command or call of a sandbox names the start of the one before it
 * (`base.after`). So the chain is read from its end.
 */
#include "cli/audit_series.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit_call.h"

/* The number of the start of the command before it; false: there was none, or it is not known. */
static bool
find_before(const struct recording *r, uint64_t *ret)
{
        const struct node *after = node_find(node_find(r->started, "base"), "after");

        if (!after || after->kind != NODE_INT)
                return false;
        *ret = (uint64_t)after->integer;
        return true;
}

/* The newest comes first here. */
static int
read_chain(struct audit_log *log, uint64_t seq, struct recordings *all, struct error *e)
{
        for (;;) {
                struct recording *r = &all->of[all->count];
                uint64_t before;

                recording_init(r, seq);
                all->count++;
                if (recording_read(log, r, e) < 0)
                        return -1;
                if (!find_before(r, &before))
                        return 0;
                if (!r->has_start || before >= r->start)
                        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "replay_order",
                                       "entry %" PRIu64 " names a later one as the one before it",
                                       r->start);
                if (all->count == RECORDINGS_MAX)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "replay_long",
                                       "more than %d commands and calls ran in its sandbox",
                                       (int)RECORDINGS_MAX);
                seq = before;
        }
}

static bool
left_nothing(const struct recording *r)
{
        return node_find(r->ended, "error") || audit_call_changed_nothing(r);
}

/* Oldest first. What left nothing is not repeated; the last one is what was asked for. */
static void
put_in_order(struct recordings *all)
{
        size_t count = 0;

        for (size_t i = 0; i < all->count / 2; i++) {
                struct recording other = all->of[i];

                all->of[i] = all->of[all->count - 1 - i];
                all->of[all->count - 1 - i] = other;
        }
        for (size_t i = 0; i < all->count; i++)
                if (i + 1 < all->count && left_nothing(&all->of[i]))
                        recording_fini(&all->of[i]);
                else
                        all->of[count++] = all->of[i];
        all->count = count;
}

int
recordings_read(struct audit_log *log, uint64_t seq, struct recordings *ret, struct error *e)
{
        *ret = (struct recordings){ .of = calloc(RECORDINGS_MAX, sizeof *ret->of) };
        if (!ret->of)
                return fail(e, ERROR_NO_MEMORY, "no memory for a recording");
        if (read_chain(log, seq, ret, e) < 0)
                return -1;
        put_in_order(ret);
        if (!ret->of[ret->count - 1].operation)
                return 0;
        return fail(e, ERROR_INVALID_ARGUMENT,
                    "entry %" PRIu64 " is a call that changes files, and not a command", seq);
}

struct looking {
        const struct recordings *all;
        const struct recording *last;
        bool is_found;
};

static bool
has_strange_row(const struct recordings *all, const struct node *rows, uint64_t seq)
{
        node_each(row, rows)
        {
                if (!audit_call_explains(all, row, seq))
                        return true;
        }
        return false;
}

/* Rows without `execs`: what changed while no command ran, and no call of these did it. */
static bool
find_change(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct looking *l = ctx;
        const struct node *output = node_find(entry->root, "output");

        (void)line, (void)len;
        l->is_found = strcmp(entry->action, "file.changed") == 0 &&
                      strcmp(entry->subject, l->last->subject) == 0 &&
                      node_find(output, "events") && !node_find(output, "execs") &&
                      has_strange_row(l->all, node_find(output, "events"), entry->seq);
        return !l->is_found && entry->seq < l->last->seq;
}

int
recordings_look(struct audit_log *log, const struct recordings *all, bool *ret_is_changed,
                struct error *e)
{
        struct looking l = { .all = all, .last = &all->of[all->count - 1] };

        *ret_is_changed = false;
        if (all->count < 2)
                return 0;
        if (audit_log_read(log, all->of[0].start, find_change, &l, e) < 0)
                return -1;
        *ret_is_changed = l.is_found;
        return 0;
}

void
recordings_fini(struct recordings *all)
{
        for (size_t i = 0; i < all->count; i++)
                recording_fini(&all->of[i]);
        free(all->of);
}
