/*
 * loop/loop.c - waiting: one epoll, timers in a heap.
 *
 * Room: loop (words). Touches: fd, clock, mem.
 * Theory: a watcher that is removed while its event waits in the fetched batch is crossed out of
 * the batch, so a callback never runs for something that is no more. Timers are looked at once a
 * turn, before the descriptors, in the order of their moments.
 */
#include "loop/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock/clock.h"

enum { WAIT_MAX_MS = 60000 };

struct loop {
        int epoll;
        bool is_stopped;
        struct epoll_event batch[LOOP_BATCH];
        int batch_len, batch_at; /* events fetched, and the one being delivered */
        struct loop_timer **heap;
        size_t count, room;
};

uint64_t
loop_now_ms(void)
{
        return clock_boot_ms();
}

uint64_t
loop_work_us(void)
{
        return clock_work_us();
}

uint64_t
loop_wall_ms(void)
{
        return clock_wall_ms();
}

int
loop_new(struct loop **ret)
{
        struct loop *l = calloc(1, sizeof *l);

        if (!l)
                return -ENOMEM;
        l->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (l->epoll < 0) {
                int result = -errno;

                free(l);
                return result;
        }
        *ret = l;
        return 0;
}

void
loop_free(struct loop *l)
{
        if (!l)
                return;
        (void)close(l->epoll);
        free(l->heap);
        free(l);
}

/* -- watchers ---------------------------------------------------------------------------------- */

static int
control(struct loop *l, int how, struct loop_watch *w)
{
        struct epoll_event event = { .events = w->events, .data.ptr = w };

        return epoll_ctl(l->epoll, how, w->fd, &event) < 0 ? -errno : 0;
}

int
loop_watch_add(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
               void (*ready)(struct loop_watch *w, uint32_t events))
{
        int result;

        *w = (struct loop_watch){ .fd = fd, .events = events, .ready = ready, .loop = l };
        result = control(l, EPOLL_CTL_ADD, w);
        if (result < 0)
                w->fd = -1;
        return result;
}

int
loop_watch_change(struct loop_watch *w, uint32_t events)
{
        if (w->fd < 0 || !w->loop || w->events == events)
                return 0;
        w->events = events;
        return control(w->loop, EPOLL_CTL_MOD, w);
}

void
loop_watch_forget(struct loop_watch *w)
{
        struct loop *l = w->loop;

        for (int i = l ? l->batch_at : 0; l && i < l->batch_len; i++)
                if (l->batch[i].data.ptr == w)
                        l->batch[i].data.ptr = NULL;
        w->fd = -1;
        w->loop = NULL;
}

int
loop_watch_move(struct loop_watch *from, struct loop_watch *to, uint32_t events,
                void (*ready)(struct loop_watch *w, uint32_t events))
{
        struct loop *l = from->loop;
        struct epoll_event event = { .events = events, .data.ptr = to };
        int fd = from->fd;

        if (!l || fd < 0)
                return -EBADF;
        if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
                return -errno;
        loop_watch_forget(from);
        *to = (struct loop_watch){ .fd = fd, .events = events, .ready = ready, .loop = l };
        return 0;
}

void
loop_watch_remove(struct loop_watch *w)
{
        struct loop *l = w->loop;

        if (!l || w->fd < 0)
                return;
        (void)control(l, EPOLL_CTL_DEL, w);
        loop_watch_forget(w);
}

/* -- timers: a binary heap, each timer knowing where it stands --------------------------------- */

static void
put(struct loop *l, size_t at, struct loop_timer *t)
{
        l->heap[at] = t;
        t->index = at + 1;
}

static void
sift_up(struct loop *l, size_t at)
{
        struct loop_timer *t = l->heap[at];

        for (; at > 0 && l->heap[(at - 1) / 2]->due_ms > t->due_ms; at = (at - 1) / 2)
                put(l, at, l->heap[(at - 1) / 2]);
        put(l, at, t);
}

static void
sift_down(struct loop *l, size_t at)
{
        struct loop_timer *t = l->heap[at];

        for (size_t child = 2 * at + 1; child < l->count; child = 2 * at + 1) {
                if (child + 1 < l->count && l->heap[child + 1]->due_ms < l->heap[child]->due_ms)
                        child++;
                if (l->heap[child]->due_ms >= t->due_ms)
                        break;
                put(l, at, l->heap[child]);
                at = child;
        }
        put(l, at, t);
}

void
loop_timer_remove(struct loop_timer *t)
{
        struct loop *l = t->loop;
        size_t at = t->index - 1;
        struct loop_timer *last;

        if (!l || t->index == 0)
                return;
        last = l->heap[--l->count];
        t->index = 0;
        t->due_ms = LOOP_NEVER;
        if (last == t)
                return;
        put(l, at, last);
        sift_up(l, at);
        sift_down(l, last->index - 1);
}

int
loop_timers_reserve(struct loop *l, size_t count)
{
        size_t room = l->room == 0 ? 16 : l->room;
        struct loop_timer **heap;

        while (room < count)
                room *= 2;
        if (room == l->room)
                return 0;
        heap = realloc(l->heap, room * sizeof(struct loop_timer *));
        if (!heap)
                return -ENOMEM;
        l->heap = heap;
        l->room = room;
        return 0;
}

int
loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t due_ms,
               void (*fire)(struct loop_timer *t))
{
        loop_timer_remove(t);
        *t = (struct loop_timer){ .due_ms = due_ms, .fire = fire, .loop = l };
        if (due_ms == LOOP_NEVER)
                return 0;
        if (loop_timers_reserve(l, l->count + 1) < 0)
                return -ENOMEM;
        put(l, l->count++, t);
        sift_up(l, l->count - 1);
        return 0;
}

/* Those that are due at the beginning; one that is set meanwhile waits for the next turn. */
static void
fire_due(struct loop *l)
{
        uint64_t now = loop_now_ms();

        for (size_t most = l->count;
             most > 0 && l->count > 0 && l->heap[0]->due_ms <= now && !l->is_stopped; most--) {
                struct loop_timer *t = l->heap[0];

                loop_timer_remove(t);
                t->fire(t);
        }
}

static int
wait_ms(const struct loop *l)
{
        uint64_t now;

        if (l->count == 0)
                return -1;
        now = loop_now_ms();
        if (l->heap[0]->due_ms <= now)
                return 0;
        return l->heap[0]->due_ms - now > WAIT_MAX_MS ? WAIT_MAX_MS
                                                      : (int)(l->heap[0]->due_ms - now);
}

/* -- turning ----------------------------------------------------------------------------------- */

static int
turn(struct loop *l, int wait)
{
        int got = epoll_wait(l->epoll, l->batch, LOOP_BATCH, wait);

        l->batch_len = got > 0 ? got : 0;
        l->batch_at = 0;
        fire_due(l);
        for (; l->batch_at < l->batch_len && !l->is_stopped; l->batch_at++) {
                struct loop_watch *w = l->batch[l->batch_at].data.ptr;

                if (w)
                        w->ready(w, l->batch[l->batch_at].events);
        }
        l->batch_len = l->batch_at = 0;
        return got;
}

void
loop_turn(struct loop *l)
{
        (void)turn(l, clock_slice_ms(wait_ms(l)));
}

int
loop_poll(struct loop *l)
{
        return turn(l, 0);
}

void
loop_run(struct loop *l)
{
        l->is_stopped = false;
        while (!l->is_stopped)
                loop_turn(l);
}

void
loop_stop(struct loop *l)
{
        l->is_stopped = true;
}
