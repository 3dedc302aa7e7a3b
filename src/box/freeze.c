/*
 * box/freeze.c - stops all processes of all execs, and continues them.
 *
 * Room: box (program). Touches: the engine, clock.
 *
 *     running --FREEZE--> freezing --all are stopped--> frozen
 *       ^---------------------- thaw ----------------------'
 *
 * is_freezing is set from FREEZE to the end of the thaw. Meanwhile durations do not count.
 */
#include "box/freeze.h"

#include <errno.h>

#include "box/engine.h"
#include "box/exec.h"
#include "box/keeper.h"
#include "box/limits.h"
#include "box/meter.h"
#include "box/state.h"

static void
answer(struct keeper *k, uint32_t wanted, int sys)
{
        struct wire_exec_number said = { wanted, sys };

        (void)wire_queue_send(&k->queue, WIRE_BOX_FROZEN, &said, sizeof said, NULL, 0);
        keeper_watch(k);
}

static void
answer_all(struct box *b, int sys)
{
        for (struct keeper *k = b->keepers; k; k = k->next)
                if (k->wants_frozen) {
                        k->wants_frozen = 0;
                        answer(k, 1, sys);
                }
}

static void
thaw(struct box *b)
{
        if (!b->is_freezing)
                return;
        (void)b->engine->calls->freeze(b->engine, 0);
        b->frozen_ms = box_frozen_ms(b);
        b->is_freezing = b->is_frozen = 0;
        meter_watch(b);
        b->busy++;
        for (struct exec *x = b->execs; x; x = x->next)
                limits_watch(x);
        b->busy--;
        exec_send_waiting(b);
}

void
freeze_heard(struct box *b, int result)
{
        if (!b->is_freezing)
                return;
        if (result == 0)
                b->is_frozen = 1;
        else
                thaw(b);
        answer_all(b, -result);
}

/* As freeze() of box/engine.h. */
static int
begin(struct box *b)
{
        int result = b->state != BOX_RUNNING ? -ESRCH : b->engine->calls->freeze(b->engine, 1);

        if (result < 0)
                return result;
        b->is_freezing = 1;
        b->frozen_since_ms = loop_now_ms();
        b->busy++;
        for (struct exec *x = b->execs; x; x = x->next)
                limits_watch(x);
        b->busy--;
        return result;
}

void
freeze_ask(struct keeper *k, int is_wanted)
{
        struct box *b = k->box;
        int result = 0;

        if (!is_wanted) {
                if (!engine_can(b->engine, ENGINE_FREEZES))
                        result = -ENOTSUP;
                thaw(b);
                answer_all(b, ECANCELED);
                answer(k, 0, -result);
                return;
        }
        if (b->is_freezing) {
                k->wants_frozen = 1;
                result = b->engine->calls->freeze(b->engine, 1);
        } else {
                result = begin(b);
                k->wants_frozen = result >= 0;
        }
        if (!k->wants_frozen)
                answer(k, 1, -result);
        else if (result != 0)
                freeze_heard(b, result > 0 ? 0 : result);
}
