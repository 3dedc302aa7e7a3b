/*
 * gate/quota.c - the part of a day's bytes that a wall has.
 *
 * Room: gate (acting). Touches: clock; the control socket, by its caller.
 * Theory: bytes are counted before they are sent, so whatever ends between the two, too much is
 * counted and never too little.
 */
#include "gate/quota.h"

#include <errno.h>

#include "gate/test_switches.h"

static void
say(struct quota *q, bool wants)
{
        const struct wire_gate_quota_ask ask = { .number = q->number,
                                                 .left = q->left,
                                                 .wants = wants };

        q->left = 0;
        q->number = 0;
        q->is_asked = wants;
        q->say(q, &ask);
}

static void
give_back(struct quota *q)
{
        loop_timer_remove(&q->idle);
        if (q->number != 0)
                say(q, false);
}

static void
look(struct loop_timer *t)
{
        struct quota *q = (struct quota *)((char *)t - offsetof(struct quota, idle));

        if (q->left == q->seen ||
            loop_timer_set(q->loop, t, loop_now_ms() + QUOTA_IDLE_MS, look) < 0)
                give_back(q);
        q->seen = q->left;
}

void
quota_begin(struct quota *q, struct loop *loop,
            void (*say_to_keeper)(struct quota *q, const struct wire_gate_quota_ask *ask))
{
        *q = (struct quota){ .loop = loop, .say = say_to_keeper, .idle = { .due_ms = LOOP_NEVER } };
}

void
quota_need(struct quota *q, bool is_needed)
{
        q->is_needed = is_needed && !switch_is_off(SWITCH_DAY);
        q->is_closed = false;
        if (!q->is_asked)
                give_back(q);
}

bool
quota_is_closed(const struct quota *q)
{
        return q->is_needed && q->is_closed && loop_now_ms() < q->until_ms;
}

size_t
quota_room(struct quota *q, size_t want)
{
        if (!q->is_needed)
                return want;
        if (q->is_asked || quota_is_closed(q))
                return 0;
        q->is_closed = false;
        if (q->left > 0 && loop_now_ms() >= q->until_ms)
                give_back(q);
        if (q->left == 0) {
                loop_timer_remove(&q->idle);
                say(q, true);
                return 0;
        }
        return q->left < want ? (size_t)q->left : want;
}

void
quota_take(struct quota *q, size_t len)
{
        if (q->is_needed)
                q->left -= len < q->left ? len : q->left;
}

int
quota_hear(struct quota *q, const struct wire_gate_quota *answer)
{
        if (!q->is_asked)
                return -EPROTO;
        q->is_asked = false;
        q->number = answer->number;
        q->left = q->seen = answer->bytes;
        q->until_ms = answer->until_ms;
        q->is_closed = answer->bytes == 0;
        q->reason = answer->sys == 0 ? DENIAL_DAY_BYTES : DENIAL_FAILED;
        if (answer->bytes > 0 &&
            (!q->is_needed ||
             loop_timer_set(q->loop, &q->idle, loop_now_ms() + QUOTA_IDLE_MS, look) < 0))
                give_back(q);
        return 0;
}

void
quota_end(struct quota *q)
{
        if (!q->is_asked)
                give_back(q);
        q->is_closed = true;
        q->until_ms = LOOP_NEVER;
}
