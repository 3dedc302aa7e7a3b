/*
 * cli/audit_recording.c - the entries of recorded commands, for `carrel audit replay`.
 *
 * Room: cli (joining). Touches: the audit log.
 * Theory: the end of a command names its start, and the start of a later command of a sandbox names
 * the start of the one before it (`base.after`). So the chain is read from its end.
 */
#include "cli/audit_recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 << 20 };

/* -- entries ----------------------------------------------------------------------------------- */

const char *
recording_text(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind != NODE_LIST && n->kind != NODE_MAP ? n->text : NULL;
}

bool
recording_says(const struct node *map, const char *key)
{
        const char *text = recording_text(map, key);

        return text && strcmp(text, "true") == 0;
}

const struct node *
recording_stream(const struct recording *r, const char *name)
{
        return node_find(node_find(r->ended, "content"), name);
}

/* A copy that lives as long as the recording. */
static const struct node *
keep(struct recording *r, const char *line, size_t len, const char *member)
{
        const char *copy = arena_copy(&r->arena, line, len);
        struct audit_entry entry;
        struct error ignored;

        if (!copy || audit_entry_read(&r->arena, copy, len, &entry, &ignored) < 0) {
                r->is_broken = true;
                return NULL;
        }
        return node_find(entry.root, member);
}

static uint64_t
start_of(const struct audit_entry *entry)
{
        const struct node *start = node_find(node_find(entry->root, "input"), "start");

        return start && start->kind == NODE_INT ? (uint64_t)start->integer : UINT64_MAX;
}

/* The end of this start. Of `carrel run`, whose ends do not name it, a sandbox has one command. */
static bool
is_end_of(const struct recording *r, const struct audit_entry *entry)
{
        uint64_t start = start_of(entry);

        return strcmp(entry->action, "exec.ended") == 0 &&
               (r->subject[0] == '\0' ? entry->seq == r->seq
                                      : strcmp(entry->subject, r->subject) == 0 &&
                                                (start == r->seq || start == UINT64_MAX));
}

/* REF is the end of a command or, as the daemon's answers name it, its start. */
static bool
find_end(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (entry->seq == r->seq && strcmp(entry->action, "exec.started") == 0) {
                (void)snprintf(r->subject, sizeof r->subject, "%s", entry->subject);
                return true;
        }
        if (!is_end_of(r, entry))
                return r->subject[0] != '\0';
        (void)snprintf(r->subject, sizeof r->subject, "%s", entry->subject);
        (void)snprintf(r->chain, sizeof r->chain, "%s", entry->chain);
        r->seq = entry->seq;
        r->start = start_of(entry);
        r->has_start = r->start != UINT64_MAX;
        r->ended = keep(r, line, len, "output");
        return false;
}

static bool
find_start(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (strcmp(entry->subject, r->subject) == 0) {
                r->connections += strcmp(entry->action, "egress.allowed") == 0;
                if (strcmp(entry->action, "exec.started") == 0 &&
                    (!r->has_start || entry->seq == r->start))
                        r->started = keep(r, line, len, "input");
        }
        return entry->seq < r->seq && !r->is_broken;
}

int
recording_read(struct audit_log *log, struct recording *r, struct error *e)
{
        if (audit_log_read(log, r->seq, find_end, r, e) < 0 ||
            (r->ended && audit_log_read(log, r->has_start ? r->start : 0, find_start, r, e) < 0))
                return -1;
        if (r->is_broken)
                return fail(e, ERROR_NO_MEMORY, "no memory for a recording");
        if (r->ended && r->started)
                return 0;
        (void)fail(e, ERROR_INVALID_ARGUMENT, "entry %" PRIu64 " is not the end of a command",
                   r->seq);
        error_hint(e, "`carrel audit tail --action exec.ended` prints the numbers.");
        return -1;
}

static bool
find_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (entry->seq == r->seq)
                r->ended = keep(r, line, len, "output");
        return false;
}

int
recording_read_refusal(struct audit_log *log, struct recording *r, struct error *e)
{
        return audit_log_read(log, r->seq, find_entry, r, e);
}

void
recording_init(struct recording *r, uint64_t seq)
{
        *r = (struct recording){ .seq = seq };
        arena_init(&r->arena, MEMORY);
}

void
recording_fini(struct recording *r)
{
        arena_fini(&r->arena);
}

/* -- all that ran in a sandbox, up to one ------------------------------------------------------ */

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
                                       "more than %d commands ran in its sandbox",
                                       (int)RECORDINGS_MAX);
                seq = before;
        }
}

/* Oldest first. A command that did not start left nothing; the last one is what was asked for. */
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
                if (i + 1 < all->count && node_find(all->of[i].ended, "error"))
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
        return 0;
}

struct looking {
        const struct recording *last;
        bool is_found;
};

/* Rows without `execs`: what changed while no command ran. */
static bool
find_change(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct looking *l = ctx;
        const struct node *output = node_find(entry->root, "output");

        (void)line, (void)len;
        l->is_found = strcmp(entry->action, "file.changed") == 0 &&
                      strcmp(entry->subject, l->last->subject) == 0 &&
                      node_find(output, "events") && !node_find(output, "execs");
        return !l->is_found && entry->seq < l->last->seq;
}

int
recordings_look(struct audit_log *log, const struct recordings *all, bool *ret_is_changed,
                struct error *e)
{
        struct looking l = { .last = &all->of[all->count - 1] };

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
