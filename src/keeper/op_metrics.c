/*
 * keeper/op_metrics.c - the operation metrics.
 *
 * Room: keeper (joining). Touches: the store.
 * Theory: the number of owners in an answer is bounded, because each is a label of a scraper.
 */
#include <string.h>

#include "keeper/approval.h"
#include "keeper/day.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "keeper/usage.h"

enum { OWNERS_MAX = 100, NS_IN_MS = 1000000 };

static const char others_name[] = "other";

/* Sandboxes of the pool have no owner: they are in FIELD_POOL. */
static void
write_state(struct record_writer *w, const struct keeper *k, const char *status)
{
        size_t mark = record_open(w, FIELD_STATES);
        uint64_t count = 0;

        for (const struct sandbox *s = k->first; s; s = s->next)
                count += s->row.owner && strcmp(sandbox_status(s), status) == 0;
        record_text(w, FIELD_STATUS, status);
        record_uint(w, FIELD_COUNT, count);
        record_close(w, mark);
}

static void
write_ended(struct record_writer *w, const char *outcome, uint64_t count)
{
        size_t mark = record_open(w, FIELD_OUTCOMES);

        record_text(w, FIELD_OUTCOME, outcome);
        record_uint(w, FIELD_COUNT, count);
        record_close(w, mark);
}

static void
known(struct record_writer *w, enum field_tag tag, uint64_t value, uint64_t unit)
{
        if (value != STORE_UNKNOWN)
                record_uint(w, (uint16_t)tag, value / unit);
}

static void
write_owner(struct record_writer *w, const struct store_usage *row, uint64_t day_bytes)
{
        size_t mark = record_open(w, FIELD_OWNERS);

        record_text(w, FIELD_OWNER, row->owner);
        known(w, FIELD_WALL, row->wall_ms, 1);
        known(w, FIELD_CPU, row->cpu_ns, NS_IN_MS);
        if (row->memory_kb_ms != STORE_UNKNOWN)
                record_uint(w, FIELD_MEMORY_TIME, usage_byte_seconds(row->memory_kb_ms));
        if (row->storage_kb_ms != STORE_UNKNOWN)
                record_uint(w, FIELD_STORAGE_TIME, usage_byte_seconds(row->storage_kb_ms));
        known(w, FIELD_OUTPUT_TOTAL, row->output_bytes, 1);
        known(w, FIELD_BYTES_OUT, row->egress_out, 1);
        known(w, FIELD_BYTES_IN, row->egress_in, 1);
        known(w, FIELD_DAY_BYTES, day_bytes, 1);
        record_close(w, mark);
}

struct owners {
        const struct keeper *keeper;
        struct record_writer *w;
        unsigned count;
        struct store_usage others; /* owner NULL: no further owner */
        uint64_t others_day;
};

static void
add(uint64_t *sum, uint64_t value)
{
        if (value != STORE_UNKNOWN)
                *sum = *sum == STORE_UNKNOWN ? value : *sum + value;
}

/* An owner whose name is that of the sum is counted in it: a label names one series. */
static int
each_owner(void *context, const struct store_usage *row)
{
        struct owners *o = context;

        if (o->count < OWNERS_MAX && strcmp(row->owner, others_name) != 0) {
                o->count++;
                write_owner(o->w, row, day_bytes(o->keeper, row->owner));
                return 0;
        }
        o->others.owner = others_name;
        add(&o->others.wall_ms, row->wall_ms);
        add(&o->others.cpu_ns, row->cpu_ns);
        add(&o->others.memory_kb_ms, row->memory_kb_ms);
        add(&o->others.storage_kb_ms, row->storage_kb_ms);
        add(&o->others.output_bytes, row->output_bytes);
        add(&o->others.egress_out, row->egress_out);
        add(&o->others.egress_in, row->egress_in);
        add(&o->others_day, day_bytes(o->keeper, row->owner));
        return 0;
}

static int
write_owners(struct record_writer *w, const struct keeper *k, struct error *e)
{
        struct owners owners = { .keeper = k,
                                 .w = w,
                                 .others_day = STORE_UNKNOWN,
                                 .others = { .wall_ms = STORE_UNKNOWN,
                                             .cpu_ns = STORE_UNKNOWN,
                                             .memory_kb_ms = STORE_UNKNOWN,
                                             .storage_kb_ms = STORE_UNKNOWN,
                                             .output_bytes = STORE_UNKNOWN,
                                             .egress_out = STORE_UNKNOWN,
                                             .egress_in = STORE_UNKNOWN } };

        if (store_usage_owners(k->store, each_owner, &owners, e) < 0)
                return -1;
        if (owners.others.owner)
                write_owner(w, &owners.others, owners.others_day);
        return 0;
}

enum call_state
op_metrics(struct call *c, struct error *e)
{
        static const char *const states[] = { "pending", "running", "paused", "stopping",
                                              "failed" };
        const struct keeper *k = c->keeper;
        struct record_writer w = reply_begin(c);

        record_text(&w, FIELD_VERSION, CARREL_VERSION);
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
                write_state(&w, k, states[i]);
        record_uint(&w, FIELD_CREATED, k->metrics.created);
        record_uint(&w, FIELD_EXECS, k->metrics.started);
        for (int i = 0; i < OUTCOME_MAX; i++)
                write_ended(&w, outcome_name((enum outcome_word)i), k->metrics.ended[i]);
        write_ended(&w, NULL, k->metrics.not_started);
        if (write_owners(&w, k, e) < 0)
                return CALL_FAILED;
        record_uint(&w, FIELD_APPROVALS, approval_waiting());
        if (k->pool)
                record_uint(&w, FIELD_POOL, pool_ready(k));
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
