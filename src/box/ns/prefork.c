/*
 * box/ns/prefork.c - when a spare (guest/preforked.h) is started, in which group, and when it ends.
 *
 * Room: box/ns (program). Touches: a group, pid 1 by messages, clock.
 *
 *     none --no command began for a moment--> ordered --one begins, and gets its number--> none
 *                                            | no command for a while, or everything was killed
 *                                            '--> none; the next command orders another
 *
 * Theory: a spare only saves time. Pid 1 receives the group with the command anyway, so if the
 * spare failed, the command starts there. In a burst there is no spare: joining a group is fast
 * while other processes did so recently. A box without any command so far keeps its spare for its
 * first command. A frozen box orders none.
 */
#include "box/ns/state.h"

enum { QUIET_MS = 5, SHORT_MS = 100 /* of memory */ };

static int
may_have_one(const struct ns *ns)
{
        return ns->is_ready && !ns->is_ending && !ns->freezer.is_on && ns->groups.work >= 0 &&
               ns->prefork.idle_ms > 0;
}

/*
 * The payload's memory pays for a spare, and its start can wait while the kernel kills for memory.
 * Pid 1 must not wait for that, nor while a killed command has to end.
 */
static int
is_bad_moment(struct ns *ns)
{
        uint64_t count = counters_oom_kills(&ns->counters), kills = count == UINT64_MAX ? 0 : count;
        int is_bad = kills > ns->prefork.kills;

        ns->prefork.kills = kills;
        for (const struct job *t = ns->jobs; t && !is_bad; t = t->next)
                is_bad = t->is_killed && !t->is_over;
        return is_bad;
}

static void
order(struct ns *ns)
{
        struct group *group = groups_take(&ns->groups);
        struct wire_spare wanted = { .number = ++ns->prefork.number };

        if (!group)
                return;
        if (group->members < 0) {
                groups_give(&ns->groups, group);
                return;
        }
        ns->prefork.group = group;
        ns_say(ns, WIRE_PREFORK, &wanted, sizeof wanted, &group->members, 1);
}

static void
look(struct loop_timer *t)
{
        struct ns *ns = ns_holder(t, prefork.timer);
        struct prefork *s = &ns->prefork;
        uint64_t now = loop_now_ms(), last = s->last_ms;

        if (!may_have_one(ns))
                return;
        if (!s->group && ns->starting > 0)
                return; /* ordered after that start is reported */
        if (!s->group && now < last + QUIET_MS) {
                (void)loop_timer_set(ns->loop, t, last + QUIET_MS, look);
                return;
        }
        if (!s->group && is_bad_moment(ns)) {
                (void)loop_timer_set(ns->loop, t, now + SHORT_MS, look);
                return;
        }
        if (!s->group && (last == 0 || now < last + s->idle_ms))
                order(ns);
        else if (s->group && last != 0 && now >= last + s->idle_ms)
                prefork_drop(ns);
        if (s->group && last != 0)
                (void)loop_timer_set(ns->loop, t, last + s->idle_ms, look);
}

void
prefork_want(struct ns *ns)
{
        if (may_have_one(ns) && ns->prefork.timer.index == 0)
                (void)loop_timer_set(ns->loop, &ns->prefork.timer, loop_now_ms() + QUIET_MS, look);
}

void
prefork_begun(struct ns *ns)
{
        ns->prefork.last_ms = loop_now_ms();
        prefork_want(ns);
}

struct group *
prefork_take(struct ns *ns, uint32_t *ret_number)
{
        struct group *group = ns->prefork.group;

        if (!group)
                return NULL;
        ns->prefork.group = NULL;
        *ret_number = ns->prefork.number;
        loop_timer_remove(&ns->prefork.timer);
        return group;
}

void
prefork_drop(struct ns *ns)
{
        static const struct wire_spare none;
        uint32_t number;
        struct group *group = prefork_take(ns, &number);

        if (!group)
                return;
        ns_say(ns, WIRE_PREFORK, &none, sizeof none, NULL, 0);
        groups_give(&ns->groups, group);
}
