/*
 * box/ns/freezer.c - stops all processes of the payload, and continues them.
 *
 * Room: box/ns (program). Touches: cgroup.freeze and cgroup.events of groups, clock.
 *
 *     thawed --freeze--> freezing --all have stopped--> frozen --thaw--> thawed
 *                         |    ^
 *                 late    v    | after a moment, longer each time
 *                        let go
 *
 * Theory: a process whose execve waits for pid 1 (guest/executions.c) stops when pid 1 has
 * answered. The group of a container contains pid 1 too. If pid 1 stops first, neither goes on.
 * Then all are let go for a moment, in which pid 1 answers.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "box/ns/state.h"

enum { LATE_MS = 50, MOMENT_MS = 5, MOMENT_LAST_MS = 500, GIVE_UP_MS = 60000 };

void
freezer_close(struct ns *ns)
{
        loop_watch_remove(&ns->freezer.events);
        loop_timer_remove(&ns->freezer.late);
}

static void
thaw(struct ns *ns)
{
        if (!ns->freezer.is_on)
                return;
        freezer_close(ns);
        (void)groups_freeze(&ns->groups, 0);
        ns->freezer.is_on = ns->freezer.lets_go = 0;
        prefork_want(ns);
}

/* 1: frozen; 0: not yet; -errno: thawed. */
static int
look(struct ns *ns)
{
        int result = groups_is_frozen(&ns->groups);

        if (result != 0)
                freezer_close(ns);
        if (result < 0)
                thaw(ns);
        return result;
}

static void
say(struct ns *ns, int result)
{
        if (result < 0)
                thaw(ns);
        if (result != 0)
                ns->engine.news->frozen(ns->engine.box, result > 0 ? 0 : -result);
}

static void
on_events(struct loop_watch *w, uint32_t events)
{
        struct ns *ns = ns_holder(w, freezer.events);

        (void)events;
        if (!ns->freezer.lets_go)
                say(ns, look(ns));
}

/* It holds all, or lets all go, in turn. */
static void
on_late(struct loop_timer *t)
{
        struct ns *ns = ns_holder(t, freezer.late);
        struct freezer *f = &ns->freezer;
        uint64_t now = loop_now_ms();
        int result = now >= f->until_ms ? -ETIMEDOUT : groups_freeze(&ns->groups, (int)f->lets_go);

        f->lets_go = !f->lets_go;
        if (result == 0)
                result = loop_timer_set(ns->loop, &f->late,
                                        now + (f->lets_go ? f->wait_ms : LATE_MS), on_late);
        if (result == 0 && f->lets_go && f->wait_ms < MOMENT_LAST_MS)
                f->wait_ms *= 2;
        say(ns, result < 0 || f->lets_go ? result : look(ns));
}

static int
begin(struct ns *ns)
{
        struct freezer *f = &ns->freezer;
        int result = groups_freeze(&ns->groups, 1);

        if (result < 0)
                return result;
        f->is_on = 1;
        f->wait_ms = MOMENT_MS;
        f->until_ms = loop_now_ms() + GIVE_UP_MS;
        result = loop_watch_add(ns->loop, &f->events, ns->groups.events, EPOLLPRI, on_events);
        if (result == 0 && ns->groups.whole)
                result = loop_timer_set(ns->loop, &f->late, loop_now_ms() + LATE_MS, on_late);
        if (result < 0)
                thaw(ns);
        return result;
}

int
ns_freeze(struct engine *e, int is_wanted)
{
        struct ns *ns = ns_of(e);
        int result;

        if (!is_wanted) {
                thaw(ns);
                return 0;
        }
        result = ns->freezer.is_on ? 0 : begin(ns);
        return result < 0 || ns->freezer.lets_go ? result : look(ns);
}
