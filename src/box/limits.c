/*
 * box/limits.c - what ends an exec or the box: deadlines, CPU time, memory, free space.
 *
 * Room: box (program). Touches: clock, the engine's counters, file systems (reads only).
 * Theory: each exec has one timer, set to the next time at which any of its limits could be
 * reached. A box without a running exec has at most one timer, its own deadline.
 */
#include "box/limits.h"

#include <sys/statvfs.h>

#include "base/floor.h"
#include "box/engine.h"
#include "box/holder.h"
#include "box/state.h"
#include "outcome/outcome.h"

enum {
        FLOOR_LOOK_MS = 250,
        OVERDUE_LOOK_MS = 100,
        HUSH_MS = 50 /* of each OVERDUE_LOOK_MS */,
        CPU_LOOK_MIN_MS = 2
};

static uint64_t
earlier(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t
after(uint64_t moment, uint64_t span)
{
        return span > BOX_NEVER - moment ? BOX_NEVER : moment + span;
}

/* -- an exec ----------------------------------------------------------------------------------- */

static uint64_t
span_ends(const struct exec *x)
{
        if (x->timeout_ms == BOX_NEVER || x->box->is_freezing)
                return BOX_NEVER; /* set again when it is thawed */
        return after(after(x->begun_ms, x->timeout_ms),
                     box_frozen_ms(x->box) - x->frozen_before_ms);
}

bool
limits_is_task_over(const struct exec *x)
{
        return x->task[0] != '\0' && loop_now_ms() >= x->deadline_ms &&
               x->deadline_ms <= span_ends(x);
}

/* The earliest time at which it could have used its CPU time: with every processor busy. */
static uint64_t
next_cpu_look(struct exec *x, uint64_t now, unsigned *ret_is_used)
{
        uint64_t used = x->cpu_ms != BOX_NEVER ? job_cpu_us(&x->job) : ENGINE_UNKNOWN;
        uint64_t left;

        *ret_is_used = 0;
        if (used == ENGINE_UNKNOWN)
                return BOX_NEVER;
        *ret_is_used = used / 1000 >= x->cpu_ms;
        left = *ret_is_used ? 0
                            : (x->cpu_ms - used / 1000) /
                                      (x->box->begin.cpu_count > 0 ? x->box->begin.cpu_count : 1);
        return now + (left < CPU_LOOK_MIN_MS ? CPU_LOOK_MIN_MS : left);
}

static void
look(struct loop_timer *t)
{
        struct exec *x = box_holder(t, struct exec, timer);
        uint64_t now = loop_now_ms(), cpu;
        unsigned is_used;

        if (x->is_over)
                return;
        cpu = next_cpu_look(x, now, &is_used);
        if (now >= x->deadline_ms || now >= span_ends(x))
                x->calls->kill(x, OUTCOME_TIMED_OUT);
        else if (is_used)
                x->calls->kill(x, OUTCOME_CPU_LIMIT);
        else
                (void)loop_timer_set(x->box->loop, t,
                                     earlier(earlier(x->deadline_ms, span_ends(x)), cpu), look);
}

static void look_at_overdue(struct loop_timer *t);

static struct exec *
find(const struct box *b, uint32_t number)
{
        struct exec *x = b->execs;

        while (x && x->number != number)
                x = x->next;
        return x;
}

static void
go_on(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, hush);

        if (!b->is_freezing)
                (void)b->engine->calls->freeze(b->engine, 0);
}

/*
 * A payload with hundreds of busy processes may leave pid 1 no processor time. So all of them are
 * frozen for a moment.
 */
static void
hush(struct box *b)
{
        if (b->hush.index != 0 || b->is_freezing || !engine_can(b->engine, ENGINE_FREEZES) ||
            engine_can(b->engine, ENGINE_FREEZES_ALL) || b->state != BOX_RUNNING ||
            loop_timer_set(b->loop, &b->hush, loop_now_ms() + HUSH_MS, go_on) < 0)
                return;
        if (b->engine->calls->freeze(b->engine, 1) < 0)
                loop_timer_remove(&b->hush);
}

static void
look_again(struct exec *x)
{
        x->looked_ms = loop_now_ms();
        (void)loop_timer_set(x->box->loop, &x->timer,
                             after(x->looked_ms, earlier(x->overdue_left_ms, OVERDUE_LOOK_MS)),
                             look_at_overdue);
}

/*
 * While the box gets no processor time, pid 1 most likely gets none either. So the time between two
 * looks counts as one pause at most. If pid 1 is frozen too, it ends the command after the thaw.
 */
static void
count_down(struct exec *x)
{
        struct box *b = x->box;
        uint64_t passed = earlier(loop_now_ms() - x->looked_ms, OVERDUE_LOOK_MS);

        if (!b->is_freezing || !engine_can(b->engine, ENGINE_FREEZES_ALL))
                x->overdue_left_ms -= earlier(passed, x->overdue_left_ms);
}

/*
 * Asks the engine. Its news that have arrived are handled first. If another process traces a dead
 * command, the kernel hides the end from pid 1 until the tracer has waited for it. So if no process
 * of it lives, the exec has ended. Otherwise a process does not
 * respond, and gets some more time.
 */
static void
look_at_overdue(struct loop_timer *t)
{
        struct exec *x = box_holder(t, struct exec, timer);
        struct box *b = x->box;
        uint32_t number = x->number;

        b->engine->calls->hear(b->engine);
        x = find(b, number);
        if (!x || x->is_over)
                return;
        if (x->state == BOX_EXEC_RUNNING && !job_has_processes(&x->job)) {
                x->calls->lose(x, x->word);
                return;
        }
        count_down(x);
        if (x->overdue_left_ms == 0) {
                b->calls->end(b, BOX_GONE_STUCK);
                return;
        }
        hush(b);
        look_again(x);
}

void
limits_overdue(struct exec *x)
{
        if (x->is_over || x->is_overdue)
                return;
        x->is_overdue = 1;
        x->overdue_left_ms = x->box->overdue_ms;
        look_again(x);
}

void
limits_watch(struct exec *x)
{
        unsigned is_used;
        uint64_t due = earlier(earlier(x->deadline_ms, span_ends(x)),
                               next_cpu_look(x, loop_now_ms(), &is_used));

        if (!x->is_over && x->is_sent && !x->is_overdue)
                (void)loop_timer_set(x->box->loop, &x->timer, due, look);
}

/* -- the box ----------------------------------------------------------------------------------- */

static void
last_moment(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, deadline);

        if (loop_now_ms() >= b->begin.deadline_ms)
                b->calls->end(b, BOX_GONE_DEADLINE);
        else
                limits_deadline(b, b->begin.deadline_ms);
}

void
limits_deadline(struct box *b, uint64_t deadline_ms)
{
        b->begin.deadline_ms = deadline_ms;
        if (b->state < BOX_ENDING)
                (void)loop_timer_set(b->loop, &b->deadline, deadline_ms, last_moment);
}

static void
look_at_floor(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, floor);

        if (b->state != BOX_RUNNING || b->running + b->starting == 0)
                return;
        for (size_t i = 0; i < b->floor_count; i++) {
                struct statvfs fs;

                if (fstatvfs(b->floors[i], &fs) == 0 && floor_is_passed(&fs, b->begin.floor_mb)) {
                        b->calls->end(b, BOX_GONE_POLICY);
                        return;
                }
        }
        (void)loop_timer_set(b->loop, t, loop_now_ms() + FLOOR_LOOK_MS, look_at_floor);
}

void
limits_floor(struct box *b)
{
        if (b->floor_count > 0 && b->floor.index == 0)
                (void)loop_timer_set(b->loop, &b->floor, loop_now_ms() + FLOOR_LOOK_MS,
                                     look_at_floor);
}

static uint64_t
oom_kills(const struct box *b)
{
        uint64_t kills = b->engine->calls->usage(b->engine, ENGINE_OOM_KILLS);

        return kills == ENGINE_UNKNOWN ? 0 : kills;
}

uint64_t
limits_pids_refused(const struct box *b)
{
        uint64_t count = b->engine->calls->usage(b->engine, ENGINE_PIDS_REFUSED);

        return count == ENGINE_UNKNOWN ? 0 : count;
}

/*
 * The kernel does not report whose process it killed. If one exec runs alone, it was in its tree.
 */
void
limits_credit_oom(struct box *b)
{
        uint64_t kills = oom_kills(b);
        struct exec *one = NULL;
        size_t count = 0;

        if (kills <= b->oom_seen)
                return;
        for (struct exec *x = b->execs; x; x = x->next)
                if (x->is_sent && (x->state == BOX_EXEC_RUNNING || x->state == BOX_EXEC_STARTING)) {
                        one = x;
                        count++;
                }
        if (count == 1)
                one->oom_own += kills - b->oom_seen;
        b->oom_seen = kills;
}
