/*
 * keeper/usage.c - metering: asks the boxes, stores the totals, answers usage and usage.list.
 *
 * Room: keeper (joining). Touches: the store.
 * Theory: the box counts (box/meter.h), and the store keeps one row of totals for each sandbox,
 * also after its end. They are written when the box is ready, each minute, when they are asked for,
 * and at the end. A box that was killed counts as far as it last reported. Sandboxes of the pool
 * have no owner, so they have no row.
 */
#include "keeper/usage.h"

#include <string.h>

#include "keeper/box_parts.h"
#include "keeper/journal.h"
#include "keeper/op.h"

static void
put(const struct box *b, const struct wire_box_used *used)
{
        const struct sandbox *s = b->sandbox;
        struct store_usage row = {
                .owner = s ? s->row.owner : NULL,
                .sandbox = b->id,
                .at_ms = loop_wall_ms(),
                .wall_ms = used->wall_ms,
                .cpu_ns = used->cpu_ns,
                .memory_peak_kb = used->memory_peak_kb,
                .execs = used->execs,
                .output_bytes = used->output_bytes,
                .egress_out = used->egress_out,
                .egress_in = used->egress_in,
                .memory_kb_ms = used->memory_kb_ms > 0 ? used->memory_kb_ms : STORE_UNKNOWN,
                .storage_kb_ms = used->storage_kb_ms > 0 ? used->storage_kb_ms : STORE_UNKNOWN,
        };
        bool is_new = s && s->row.owner && s->state != SANDBOX_STOPPING;
        struct error ignored;

        /* totals: the next report has all that this one had */
        (void)store_usage_put(b->keeper->store, &row, is_new, &ignored);
}

void
usage_hear(struct box *b, const void *body, size_t len)
{
        struct wire_box_used used = { .memory_kb_ms = 0 };

        if (len < BOX_USED_METERED)
                return;
        memcpy(&used, body, len);
        put(b, &used);
}

void
usage_bury(struct box *b)
{
        struct wire_box_used used;

        if (journal_used(b->keeper->boxes_fd, b->id, &used))
                put(b, &used);
}

void
usage_ask(struct keeper *k)
{
        for (struct box *b = k->boxes; b; b = b->next)
                if (b->is_ready && !b->is_gone)
                        (void)box_send(b, WIRE_BOX_USAGE, NULL, 0);
}

/* -- the operations ---------------------------------------------------------------------------- */

/* Without a product that is too large, in the worst case after centuries. */
uint64_t
usage_byte_seconds(uint64_t kb_ms)
{
        return kb_ms / 1000 * 1024 + kb_ms % 1000 * 1024 / 1000;
}

static void
known(struct record_writer *w, enum field_tag tag, uint64_t value, uint64_t unit)
{
        if (value != STORE_UNKNOWN)
                record_uint(w, (uint16_t)tag, value / unit);
}

static void
write_usage(struct record_writer *w, const void *of, const void *item)
{
        enum { NS_IN_MS = 1000000 };
        const struct store_usage *row = item;

        (void)of;
        record_text(w, FIELD_ID, row->sandbox);
        record_text(w, FIELD_OWNER, row->owner);
        record_uint(w, FIELD_AT, row->at_ms);
        known(w, FIELD_WALL, row->wall_ms, 1);
        known(w, FIELD_CPU, row->cpu_ns, NS_IN_MS);
        known(w, FIELD_MEMORY_PEAK, row->memory_peak_kb, 1);
        if (row->memory_kb_ms != STORE_UNKNOWN)
                record_uint(w, FIELD_MEMORY_TIME, usage_byte_seconds(row->memory_kb_ms));
        if (row->storage_kb_ms != STORE_UNKNOWN)
                record_uint(w, FIELD_STORAGE_TIME, usage_byte_seconds(row->storage_kb_ms));
        known(w, FIELD_EXECS, row->execs, 1);
        known(w, FIELD_OUTPUT_TOTAL, row->output_bytes, 1);
        known(w, FIELD_BYTES_OUT, row->egress_out, 1);
        known(w, FIELD_BYTES_IN, row->egress_in, 1);
}

struct walk {
        struct call *call;
        struct record_writer w;
        const char *id; /* only this one; NULL: all */
        uint64_t number;
        bool waits, is_found;
};

static int
write_row(void *context, const struct store_usage *row)
{
        struct walk *walk = context;

        if (walk->id) {
                walk->is_found = row->sandbox && strcmp(row->sandbox, walk->id) == 0;
                if (walk->is_found)
                        write_usage(&walk->w, NULL, row);
                return walk->is_found;
        }
        if (++walk->number <= walk->call->cursor)
                return 0;
        walk->waits = !parts_add(walk->call, &walk->w, write_usage, NULL, row, walk->number);
        return walk->waits;
}

/* A sandbox that has used nothing yet: it has no box, or that has not reported. */
static void
write_nothing(struct record_writer *w, const struct sandbox *s)
{
        const struct store_usage row = {
                .owner = s->row.owner,
                .sandbox = s->id,
                .at_ms = loop_wall_ms(),
                .cpu_ns = STORE_UNKNOWN,
                .memory_peak_kb = STORE_UNKNOWN,
                .memory_kb_ms = STORE_UNKNOWN,
                .storage_kb_ms = STORE_UNKNOWN,
                .egress_out = STORE_UNKNOWN,
                .egress_in = STORE_UNKNOWN,
        };

        write_usage(w, NULL, &row);
}

enum call_state
op_usage(struct call *c, struct error *e)
{
        const struct sandbox *s = registry_of_call(c, e);
        struct walk walk = { .call = c };

        if (!s)
                return CALL_FAILED;
        if (s->box && box_need_usage(s->box, c) == CALL_WAITS)
                return CALL_WAITS;
        walk.id = s->id;
        walk.w = reply_begin(c);
        if (store_usage_each(c->keeper->store, s->row.owner, write_row, &walk, e) < 0)
                return CALL_FAILED;
        if (!walk.is_found)
                write_nothing(&walk.w, s);
        reply_send(c, &walk.w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_usage_list(struct call *c, struct error *e)
{
        const char *owner = c->caller.is_admin ? NULL : c->caller.owner;
        struct walk walk = { .call = c };

        if (!parts_begin(c, &walk.w))
                return CALL_WAITS;
        if (store_usage_each(c->keeper->store, owner, write_row, &walk, e) < 0)
                return CALL_FAILED;
        if (walk.waits)
                return CALL_WAITS;
        reply_send(c, &walk.w, 0, -1);
        return CALL_DONE;
}
