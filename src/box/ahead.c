/*
 * box/ahead.c - when a spare (guest/spare.h) is started, in which group, and when it ends.
 *
 * Room: box (program). Touches: a group, pid 1 by messages, clock.
 *
 *     none --no exec began for a moment--> ordered --an exec begins, and gets its number--> none
 *                                            | no exec for a while, or everything was killed
 *                                            '--> none; the next exec orders another
 *
 * Theory: a spare only saves time. Pid 1 receives the group with the exec anyway, so if the spare
 * failed, the command starts there. In a burst there is no spare: joining a group is fast while
 * other processes did so recently. A box without any exec so far keeps its spare for its first
 * command. A frozen box orders none.
 */
#include "box/state.h"

enum { QUIET_MS = 5, SHORT_MS = 100 /* of memory */ };

static int
may_have_one(const struct box *b)
{
        return b->state == BOX_RUNNING && b->is_ready && !b->is_freezing && b->groups.work >= 0 &&
               b->spare_idle_ms > 0;
}

/*
 * The payload's memory pays for a spare, and its start can wait while the kernel kills for memory.
 * Pid 1 must not wait for that, nor while a killed command has to end.
 */
static int
is_bad_moment(struct box *b)
{
        uint64_t kills = limits_oom_kills(b);
        int is_bad = kills > b->ahead.kills;

        b->ahead.kills = kills;
        for (const struct exec *x = b->execs; x && !is_bad; x = x->next)
                is_bad = x->is_overdue && !x->is_over;
        return is_bad;
}

static void
order(struct box *b)
{
        struct group *group = groups_take(&b->groups);
        struct wire_spare wanted = { .number = ++b->ahead.number };

        if (!group)
                return;
        if (group->members < 0) {
                groups_give(&b->groups, group);
                return;
        }
        b->ahead.group = group;
        box_say_guest(b, WIRE_SPARE, &wanted, sizeof wanted, &group->members, 1);
}

static void
look(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, ahead.timer);
        uint64_t now = loop_now_ms(), last = b->ahead.last_ms;

        if (!may_have_one(b))
                return;
        if (!b->ahead.group && b->starting > 0)
                return; /* ordered after that start is reported */
        if (!b->ahead.group && now < last + QUIET_MS) {
                (void)loop_timer_set(b->loop, t, last + QUIET_MS, look);
                return;
        }
        if (!b->ahead.group && is_bad_moment(b)) {
                (void)loop_timer_set(b->loop, t, now + SHORT_MS, look);
                return;
        }
        if (!b->ahead.group && (last == 0 || now < last + b->spare_idle_ms))
                order(b);
        else if (b->ahead.group && last != 0 && now >= last + b->spare_idle_ms)
                ahead_drop(b);
        if (b->ahead.group && last != 0)
                (void)loop_timer_set(b->loop, t, last + b->spare_idle_ms, look);
}

void
ahead_want(struct box *b)
{
        if (may_have_one(b) && b->ahead.timer.index == 0)
                (void)loop_timer_set(b->loop, &b->ahead.timer, loop_now_ms() + QUIET_MS, look);
}

void
ahead_begun(struct box *b)
{
        b->ahead.last_ms = loop_now_ms();
        ahead_want(b);
}

struct group *
ahead_take(struct box *b, uint32_t *ret_number)
{
        struct group *group = b->ahead.group;

        if (!group)
                return NULL;
        b->ahead.group = NULL;
        *ret_number = b->ahead.number;
        loop_timer_remove(&b->ahead.timer);
        return group;
}

void
ahead_drop(struct box *b)
{
        static const struct wire_spare none;
        uint32_t number;
        struct group *group = ahead_take(b, &number);

        if (!group)
                return;
        box_say_guest(b, WIRE_SPARE, &none, sizeof none, NULL, 0);
        groups_give(&b->groups, group);
}
