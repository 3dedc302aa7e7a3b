/*
 * cli/audit_recording.c - the entries of recorded commands, for `carrel audit replay`.
 *
 * Room: cli (joining). Touches: the audit log.
 * Theory: the end of a command, or of a call that changes files, names its start.
 */
#include "cli/audit_recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/message.h"

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

static bool
is_start(const struct audit_entry *entry)
{
        return strcmp(entry->action, "exec.started") == 0 ||
               strcmp(entry->action, RECORDER_CALLED) == 0;
}

static bool
is_end(const struct audit_entry *entry)
{
        return strcmp(entry->action, "exec.ended") == 0 ||
               strcmp(entry->action, recorder_ended_action(RECORDER_CALLS)) == 0;
}

/* The end of this start. Of `carrel run`, whose ends do not name it, a sandbox has one command. */
static bool
is_end_of(const struct recording *r, const struct audit_entry *entry)
{
        uint64_t start = start_of(entry);

        return is_end(entry) &&
               (r->subject[0] == '\0' ? entry->seq == r->seq
                                      : strcmp(entry->subject, r->subject) == 0 &&
                                                (start == r->seq || start == UINT64_MAX));
}

/* REF is the end of a command or, as the daemon's answers name it, its start. */
static bool
find_end(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (entry->seq == r->seq && is_start(entry)) {
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
                if (is_start(entry) && (!r->has_start || entry->seq == r->start)) {
                        r->started = keep(r, line, len, "input");
                        r->operation = strcmp(entry->action, RECORDER_CALLED) == 0 && r->started
                                               ? recording_text(r->started, "operation")
                                               : NULL;
                }
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
