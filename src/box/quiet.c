/*
 * box/quiet.c - reports to the maker whether any process of the payload can run.
 *
 * Room: box (program). Touches: cgroup.events of groups, its maker by messages, clock.
 *
 *     quiet --an exec is sent to pid 1: reported before--> busy
 *     busy --no exec, and no process that an exec left--> quiet
 *
 * Theory: while the payload has no process, a new name in a mount was created by the host
 * (maker/guard.c). File operations over the API are execs too. Processes that commands leave
 * running are visible in their control groups. Without groups, pid 1 reports that it has no child
 * left. It does so after the end of every exec, so the report counts only while no exec is in
 * progress.
 */
#include <errno.h>
#include <time.h>

#include "box/state.h"

enum { FIRST_LOOK_MS = 20, LAST_LOOK_MS = 1000 };

static int
has_processes(const struct box *b)
{
        if (b->groups.work < 0)
                return !b->is_idle;
        for (const struct group *left = b->groups.left; left; left = left->next)
                if (!groups_is_empty(&b->groups, left))
                        return 1;
        for (const struct exec *x = b->execs; x; x = x->next)
                if (x->group && !groups_is_empty(&b->groups, x->group))
                        return 1;
        return 0;
}

static int
say(struct box *b, int is_busy)
{
        struct wire_busy order = { .number = is_busy };
        struct timespec now = { 0, 0 };
        int result;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        order.sec = now.tv_sec;
        order.nsec = (uint32_t)now.tv_nsec;
        result = b->has_maker ? wire_send(b->maker.fd, WIRE_BUSY, &order, sizeof order, NULL, 0)
                              : -EPIPE;
        if (result == 0)
                b->is_busy = (unsigned)is_busy;
        return result;
}

static void
on_look(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, quiet);

        if (!b->is_busy || b->running + b->starting > 0 || b->state != BOX_RUNNING)
                return;
        if (!has_processes(b) && say(b, 0) == 0)
                return;
        b->quiet_ms = 2 * b->quiet_ms > LAST_LOOK_MS ? LAST_LOOK_MS : 2 * b->quiet_ms;
        quiet_look(b);
}

/* After a pause: between commands in sequence the box stays busy. */
void
quiet_look(struct box *b)
{
        if (b->is_busy && b->running + b->starting == 0 && b->state == BOX_RUNNING &&
            b->quiet.index == 0 && (b->groups.work >= 0 || b->is_idle))
                (void)loop_timer_set(b->loop, &b->quiet, loop_now_ms() + b->quiet_ms, on_look);
}

int
quiet_end(struct box *b)
{
        b->is_idle = 0;
        b->quiet_ms = FIRST_LOOK_MS;
        loop_timer_remove(&b->quiet);
        return b->is_busy || !b->has_maker ? 0 : say(b, 1);
}

void
quiet_heard(struct box *b)
{
        b->is_idle = b->running + b->starting == 0;
        quiet_look(b);
}
