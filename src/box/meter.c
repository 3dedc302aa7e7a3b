/*
 * box/meter.c - what a box has used since it began.
 *
 * Room: box (program). Touches: mem; the engine reads its counters.
 * Theory: the box counts, not the keeper: it lives as long as the sandbox, so the totals survive a
 * restart of the keeper. CPU time comes from the control group, which counts every process. Without
 * one it is the sum of what each command and its children were charged when they ended.
 */
#include "box/meter.h"

#include "box/holder.h"
#include "box/output.h"

enum { LOOK_MS = 1000 };

static bool
is_counted(const struct exec *x)
{
        return (x->flags & BOX_EXEC_QUIET) == 0;
}

void
meter_exec(struct box *b, const struct exec *x)
{
        struct box_meter *m = &b->meter;

        if (!is_counted(x))
                return;
        m->execs++;
        m->cpu_ns += x->end.cpu_ms * 1000000;
        m->output_bytes += x->end.stdout_bytes + x->end.stderr_bytes;
        if (x->end.memory_peak_kb > m->memory_peak_kb)
                m->memory_peak_kb = x->end.memory_peak_kb;
}

void
meter_egress(struct box *b, const struct wire_wall_allowed *a)
{
        if (a->is_end == 0)
                return;
        b->meter.has_egress = 1;
        b->meter.egress_out += a->bytes_out;
        b->meter.egress_in += a->bytes_in;
}

/* -- memory and storage over time -------------------------------------------------------------- */

/*
 * What was in use at the last look counts until this one. So it is a little late, and never a guess
 * about what was not seen.
 */
static void
look_at_storage(struct box_meter *m, uint64_t private_kb, uint64_t passed_ms)
{
        if (m->has_storage)
                m->storage_kb_ms += m->storage_kb * passed_ms;
        m->has_storage = m->has_storage || m->has_volumes || private_kb != ENGINE_UNKNOWN;
        m->storage_kb = (private_kb != ENGINE_UNKNOWN ? private_kb : 0) + m->volumes_kb;
}

static uint64_t
engine_usage(struct box *b, enum engine_usage of)
{
        return b->state == BOX_OVER ? ENGINE_UNKNOWN : b->engine->calls->usage(b->engine, of);
}

static void
look_at_use(struct box *b)
{
        struct box_meter *m = &b->meter;
        uint64_t now = loop_now_ms(), kb = engine_usage(b, ENGINE_MEMORY_KB);

        if (m->has_memory)
                m->memory_kb_ms += m->memory_kb * (now - m->looked_ms);
        m->has_memory = m->has_memory || kb != ENGINE_UNKNOWN;
        m->memory_kb = kb != ENGINE_UNKNOWN ? kb : 0;
        look_at_storage(m, engine_usage(b, ENGINE_STORED_KB), now - m->looked_ms);
        m->looked_ms = now;
}

void
meter_volumes(struct box *b, uint64_t kb)
{
        b->meter.has_volumes = 1;
        b->meter.volumes_kb = kb;
}

/* Once more after the last command, which may have given back what it used. */
static void
on_memory(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, memory);

        look_at_use(b);
        if (b->running > 0 && !b->is_frozen)
                (void)loop_timer_set(b->loop, t, loop_now_ms() + LOOK_MS, on_memory);
}

void
meter_watch(struct box *b)
{
        if (!b->one.is_on && b->running > 0 && b->memory.index == 0)
                (void)loop_timer_set(b->loop, &b->memory, loop_now_ms() + LOOK_MS, on_memory);
}

size_t
meter_len(const struct box *b)
{
        return b->protocol >= BOX_PROTOCOL_COUNTED    ? sizeof(struct wire_box_used)
               : b->protocol >= BOX_PROTOCOL_SANITIZE ? BOX_USED_MEMORY
               : b->protocol >= BOX_PROTOCOL_METERED  ? BOX_USED_METERED
                                                      : BOX_USED_FIRST;
}

/* -- the totals -------------------------------------------------------------------------------- */

static uint64_t
cpu_ns(struct box *b)
{
        uint64_t used = engine_usage(b, ENGINE_CPU_NS);

        if (used == ENGINE_UNKNOWN)
                used = b->one.usage.has_usage ? b->one.usage.cpu_ns : b->meter.cpu_ns;
        if (used > b->meter.cpu_most_ns)
                b->meter.cpu_most_ns = used;
        return b->meter.cpu_most_ns;
}

/* Of the execs that run now. */
static void
add_running(const struct box *b, struct wire_box_used *used)
{
        for (const struct exec *x = b->execs; x; x = x->next) {
                if (!is_counted(x) || x->is_over || x->state != BOX_EXEC_RUNNING)
                        continue;
                used->execs++;
                used->output_bytes += output_bytes(&x->out[0]) + output_bytes(&x->out[1]);
        }
}

struct wire_box_used
meter_read(struct box *b)
{
        const struct box_meter *m = &b->meter;
        uint64_t peak = b->one.usage.has_usage ? b->one.usage.memory_peak >> 10 : 0;
        struct wire_box_used used = {
                .cpu_ns = cpu_ns(b),
                .running = b->running,
                .wall_ms = loop_now_ms() - b->started_ms - box_frozen_ms(b),
                .memory_peak_kb = m->memory_peak_kb > peak ? m->memory_peak_kb : peak,
                .execs = m->execs,
                .output_bytes = m->output_bytes,
                .egress_out = m->has_egress ? m->egress_out : UINT64_MAX,
                .egress_in = m->has_egress ? m->egress_in : UINT64_MAX,
        };

        if (used.memory_peak_kb == 0)
                used.memory_peak_kb = UINT64_MAX;
        add_running(b, &used);
        look_at_use(b);
        used.memory_kb_ms = m->memory_kb_ms + m->has_memory; /* 0 is "not known" */
        used.storage_kb_ms = m->storage_kb_ms + m->has_storage;
        return used;
}
