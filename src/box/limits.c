/*
 * box/limits.c - what ends an exec or the box: deadlines, CPU time, memory, free space.
 *
 * Room: box (program). Touches: clock, counters of the box's groups, file systems (reads only).
 * Theory: each exec has one timer, set to the next time at which any of its limits could be
 * reached. A box without a running exec has at most one timer, its own deadline.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/floor.h"
#include "box/state.h"
#include "event/outcome.h"

enum {
        FLOOR_LOOK_MS = 250,
        OVERDUE_LOOK_MS = 100,
        HUSH_MS = 50 /* of each OVERDUE_LOOK_MS */,
        CPU_LOOK_MIN_MS = 2,
        TEXT_ROOM = 512
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

/* The earliest time at which it could have used its CPU time: with every processor busy. */
static uint64_t
next_cpu_look(const struct exec *x, uint64_t now, unsigned *ret_is_used)
{
        uint64_t used = x->cpu_ms != BOX_NEVER && x->group
                                ? groups_cpu_us(&x->box->groups, x->group)
                                : BOX_NEVER;
        uint64_t left;

        *ret_is_used = 0;
        if (used == BOX_NEVER)
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
                exec_kill(x, OUTCOME_TIMED_OUT);
        else if (is_used)
                exec_kill(x, OUTCOME_CPU_LIMIT);
        else
                (void)loop_timer_set(x->box->loop, t,
                                     earlier(earlier(x->deadline_ms, span_ends(x)), cpu), look);
}

static void look_at_overdue(struct loop_timer *t);

static void
go_on(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, hush);

        if (!b->is_freezing)
                (void)groups_freeze(&b->groups, 0);
}

/*
 * A payload with hundreds of busy processes may leave pid 1 no processor time. So all of them are
 * frozen for a moment.
 */
static void
hush(struct box *b)
{
        if (b->hush.index != 0 || b->is_freezing || !b->groups.can_freeze ||
            b->state != BOX_RUNNING ||
            loop_timer_set(b->loop, &b->hush, loop_now_ms() + HUSH_MS, go_on) < 0)
                return;
        if (groups_freeze(&b->groups, 1) < 0)
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
 * looks counts as one pause at most.
 */
static void
count_down(struct exec *x)
{
        uint64_t passed = earlier(loop_now_ms() - x->looked_ms, OVERDUE_LOOK_MS);

        x->overdue_left_ms -= earlier(passed, x->overdue_left_ms);
}

/*
 * Asks pid 1 and the kernel. Messages of pid 1 that have arrived are handled first. If another
 * process traces a dead command, the kernel hides the end from pid 1 until the tracer has waited
 * for it. So if no process lives in the group, the exec has ended. Otherwise a process does not
 * respond, and gets some more time.
 */
static void
look_at_overdue(struct loop_timer *t)
{
        struct exec *x = box_holder(t, struct exec, timer);
        struct box *b = x->box;
        uint32_t number = x->number;

        box_hear_guest(b);
        x = exec_find(b, number);
        if (!x || x->is_over)
                return;
        if (x->state == BOX_EXEC_RUNNING && x->group && groups_is_empty(&b->groups, x->group)) {
                exec_lost(x, x->word);
                return;
        }
        count_down(x);
        if (x->overdue_left_ms == 0) {
                box_end(b, BOX_GONE_STUCK);
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
                box_end(b, BOX_GONE_DEADLINE);
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
                        box_end(b, BOX_GONE_POLICY);
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

/* The number after `key `, or of the whole file with ""; UINT64_MAX if not found. */
static uint64_t
read_counter(int fd, const char *key)
{
        char text[TEXT_ROOM];
        ssize_t len = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
        const char *at = text;

        if (len <= 0)
                return UINT64_MAX;
        text[len] = '\0';
        while (key[0] != '\0' && (strncmp(at, key, strlen(key)) != 0 || at[strlen(key)] != ' ')) {
                at = strchr(at, '\n');
                if (!at)
                        return UINT64_MAX;
                at++;
        }
        at += key[0] != '\0' ? strlen(key) + 1 : 0;
        return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : UINT64_MAX;
}

/* A counter arrives without its kind, which its text shows. Takes the descriptor. */
void
limits_take_counter(struct box *b, int take_fd)
{
        if (b->oom_counter < 0 && read_counter(take_fd, "oom_kill") != UINT64_MAX) {
                b->oom_counter = take_fd;
        } else if (b->pids_counter < 0 && read_counter(take_fd, "max") != UINT64_MAX) {
                b->pids_counter = take_fd;
        } else if (b->cpu_counter < 0 && (read_counter(take_fd, "usage_usec") != UINT64_MAX ||
                                          read_counter(take_fd, "") != UINT64_MAX)) {
                b->cpu_is_stat = read_counter(take_fd, "") == UINT64_MAX;
                b->cpu_counter = take_fd;
        } else {
                (void)close(take_fd);
        }
}

uint64_t
limits_oom_kills(const struct box *b)
{
        uint64_t kills = read_counter(b->oom_counter, "oom_kill");

        return kills == UINT64_MAX ? 0 : kills;
}

uint64_t
limits_pids_refused(const struct box *b)
{
        uint64_t count = read_counter(b->pids_counter, "max");

        return count == UINT64_MAX ? 0 : count;
}

/*
 * The kernel does not report whose process it killed. If one exec runs alone, it was in its tree.
 */
void
limits_credit_oom(struct box *b)
{
        uint64_t kills = limits_oom_kills(b);
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

uint64_t
limits_cpu_ns(const struct box *b)
{
        uint64_t used = groups_box_cpu_us(&b->groups);

        if (used != UINT64_MAX)
                return used * 1000;
        used = read_counter(b->cpu_counter, b->cpu_is_stat ? "usage_usec" : "");
        return used == UINT64_MAX ? 0 : b->cpu_is_stat ? used * 1000 : used;
}
