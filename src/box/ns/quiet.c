/*
 * box/ns/quiet.c - reports to the maker whether any process of the payload can run.
 *
 * Room: box/ns (program). Touches: cgroup.events of groups, its maker by messages, clock.
 *
 *     quiet --a command is sent to pid 1: reported before--> busy
 *     busy --no command, and no process that one left--> quiet
 *
 * Theory: while the payload has no process, a new name in a mount was created by the host
 * (maker/guard.c). File operations over the API are commands too. Processes that commands leave
 * running are visible in their control groups. Without groups, pid 1 reports that it has no child
 * left. It does so after the end of every command, so the report counts only while none is in
 * progress.
 */
#include <errno.h>
#include <time.h>

#include "box/ns/state.h"

enum { FIRST_LOOK_MS = 20, LAST_LOOK_MS = 1000 };

static int
has_processes(const struct ns *ns)
{
        if (ns->groups.work < 0)
                return !ns->quiet.is_idle;
        for (const struct group *left = ns->groups.left; left; left = left->next)
                if (!groups_is_empty(&ns->groups, left))
                        return 1;
        for (const struct job *t = ns->jobs; t; t = t->next)
                if (t->place && !groups_is_empty(&ns->groups, t->place))
                        return 1;
        return 0;
}

static int
say(struct ns *ns, int is_busy)
{
        struct wire_busy order = { .number = is_busy };
        struct timespec now = { 0, 0 };
        int result;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        order.sec = now.tv_sec;
        order.nsec = (uint32_t)now.tv_nsec;
        result = ns->has_maker ? wire_send(ns->maker.fd, WIRE_BUSY, &order, sizeof order, NULL, 0)
                               : -EPIPE;
        if (result == 0)
                ns->quiet.is_busy = (unsigned)is_busy;
        return result;
}

static int
may_look(const struct ns *ns)
{
        return ns->quiet.is_busy && ns->running + ns->starting == 0 && ns->is_spawned &&
               !ns->is_ending;
}

static void
on_look(struct loop_timer *t)
{
        struct ns *ns = ns_holder(t, quiet.timer);
        struct quiet *q = &ns->quiet;

        if (!may_look(ns))
                return;
        if (!has_processes(ns) && say(ns, 0) == 0)
                return;
        q->wait_ms = 2 * q->wait_ms > LAST_LOOK_MS ? LAST_LOOK_MS : 2 * q->wait_ms;
        quiet_look(ns);
}

/* After a pause: between commands in sequence the box stays busy. */
void
quiet_look(struct ns *ns)
{
        struct quiet *q = &ns->quiet;

        if (may_look(ns) && q->timer.index == 0 && (ns->groups.work >= 0 || q->is_idle))
                (void)loop_timer_set(ns->loop, &q->timer, loop_now_ms() + q->wait_ms, on_look);
}

int
quiet_end(struct ns *ns)
{
        ns->quiet.is_idle = 0;
        ns->quiet.wait_ms = FIRST_LOOK_MS;
        loop_timer_remove(&ns->quiet.timer);
        return ns->quiet.is_busy || !ns->has_maker ? 0 : say(ns, 1);
}

void
quiet_heard(struct ns *ns)
{
        ns->quiet.is_idle = ns->running + ns->starting == 0;
        quiet_look(ns);
}
