/*
 * box/freeze.c - stops all processes of all execs, and continues them.
 *
 * Room: box (program). Touches: cgroup.freeze and cgroup.events of the group of all execs, clock.
 *
 *     running --FREEZE--> freezing --all are stopped--> frozen
 *       ^---------------------- thaw ----------------------'
 *
 * is_freezing is set from FREEZE to the end of the thaw. Meanwhile durations do not count.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "box/state.h"

uint64_t
box_frozen_ms(const struct box *b)
{
        return b->frozen_ms + (b->is_freezing ? loop_now_ms() - b->frozen_since_ms : 0);
}

static void
answer(struct keeper *k, uint32_t wanted, int sys)
{
        struct wire_exec_number said = { wanted, sys };

        (void)queue_send(&k->queue, WIRE_BOX_FROZEN, &said, sizeof said, NULL, 0);
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
look(struct box *b)
{
        int result = groups_is_frozen(&b->groups);

        if (result == 0)
                return;
        loop_watch_remove(&b->freezer);
        if (result > 0)
                b->is_frozen = 1;
        else
                freeze_thaw_now(b);
        answer_all(b, result > 0 ? 0 : -result);
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        (void)events;
        look(box_holder(w, struct box, freezer));
}

static int
begin(struct box *b)
{
        int result = b->state != BOX_RUNNING ? -ESRCH : groups_freeze(&b->groups, 1);

        if (result < 0)
                return result;
        b->is_freezing = 1;
        b->frozen_since_ms = loop_now_ms();
        result = loop_watch_add(b->loop, &b->freezer, b->groups.events, EPOLLPRI, ready);
        if (result < 0) {
                freeze_thaw_now(b);
                return result;
        }
        b->busy++;
        for (struct exec *x = b->execs; x; x = x->next)
                limits_watch(x);
        b->busy--;
        return 0;
}

void
freeze_thaw_now(struct box *b)
{
        if (!b->is_freezing)
                return;
        loop_watch_remove(&b->freezer);
        (void)groups_freeze(&b->groups, 0);
        b->frozen_ms = box_frozen_ms(b);
        b->is_freezing = b->is_frozen = 0;
        b->busy++;
        for (struct exec *x = b->execs; x; x = x->next)
                limits_watch(x);
        b->busy--;
        exec_send_waiting(b);
        ahead_want(b);
}

void
freeze_ask(struct keeper *k, int is_wanted)
{
        struct box *b = k->box;
        int result = 0;

        if (!is_wanted) {
                if (!b->groups.can_freeze)
                        result = -ENOTSUP;
                freeze_thaw_now(b);
                answer_all(b, ECANCELED);
                answer(k, 0, -result);
                return;
        }
        if (!b->is_freezing)
                result = begin(b);
        if (result < 0) {
                answer(k, 1, -result);
                return;
        }
        k->wants_frozen = 1;
        look(b);
}
