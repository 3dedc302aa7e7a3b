/*
 * box/ahead.c - when a child of pid 1 is made ready ahead (guest/spare.h), in which group, and when it goes.
 *
 * Room: box (program). Touches: a group, pid 1 by messages, clock.
 *
 *     none --nothing was begun for a moment--> ordered --an exec is begun, and is told its number--> none
 *                                                 | no exec for a while after the last, or everything was killed
 *                                                 '--> none; the next exec brings another
 *
 * Theory: it only saves time. The group is handed to pid 1 with the exec all the same, so that whatever became of the spare the command is
 * started there. In a burst there is none: groups are joined quickly as long as somebody just did. A box in which nothing was ever
 * begun keeps its spare, because its first command is what it waits for; in a frozen box none is ordered.
 */
#include "box/state.h"

enum { QUIET_MS = 5, SHORT_MS = 100 /* of memory */ };

static int
may_have_one(const struct box *b)
{
        return b->state == BOX_RUNNING && b->is_ready && !b->is_freezing && b->groups.work >= 0 && b->spare_idle_ms > 0;
}

/* Who makes one pays for it in the payload's memory, and waits while the kernel kills for more: not pid 1, and not while a killed command has to end. */
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
                return;                        /* wanted again once that is told */
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
