/*
 * loop/loop.h - waiting: one epoll, watchers embedded in what they serve, timers on the boot clock.
 *
 * One thread, one loop a process. Needs nothing but libc, because the box links it too; failures
 * are negative errno values. Callbacks run one after another from loop_turn(); each may add, change
 * and remove any watcher or timer, its own too: an event that was already fetched for a watcher
 * removed meanwhile is not delivered.
 */
#ifndef CARREL_LOOP_LOOP_H
#define CARREL_LOOP_LOOP_H

#include <stddef.h>
#include <stdint.h>

struct loop;

/* `events` as of epoll_ctl(2): EPOLLIN, EPOLLOUT; EPOLLHUP and EPOLLERR always come. */
struct loop_watch {
        int fd; /* borrowed; -1 while not watched */
        uint32_t events;
        void (*ready)(struct loop_watch *w, uint32_t events);
        struct loop *loop; /* the loop's own */
};

struct loop_timer {
        uint64_t due_ms; /* boot clock; LOOP_NEVER while not set */
        void (*fire)(struct loop_timer *t);
        struct loop *loop; /* the loop's own, as is the rest */
        size_t index;      /* in the heap, plus 1; 0: not in it */
};

#define LOOP_NEVER UINT64_MAX

/* Gives a loop; ended with loop_free(). 0 or -errno. */
int loop_new(struct loop **ret);
void loop_free(struct loop *l);

/* Begins, changes and ends watching. add: 0 or -errno (EPERM: not pollable). remove accepts one
 * that is not watched. */
int loop_watch_add(struct loop *l, struct loop_watch *w, int fd, uint32_t events,
                   void (*ready)(struct loop_watch *w, uint32_t events));
int loop_watch_change(struct loop_watch *w, uint32_t events);
void loop_watch_remove(struct loop_watch *w);

/* From now on `to` watches what `from` did, which is not watching any more; they may be one. What
 * is ready already is reported again. 0 or -errno, and nothing changed. */
int loop_watch_move(struct loop_watch *from, struct loop_watch *to, uint32_t events,
                    void (*ready)(struct loop_watch *w, uint32_t events));

/* Ends watching a descriptor that is closed next and that no other process has open: the kernel
 * forgets those itself. */
void loop_watch_forget(struct loop_watch *w);

/* Room for so many timers at once: as long as there are no more of them, loop_timer_set() does not
 * fail. 0 or -ENOMEM. */
int loop_timers_reserve(struct loop *l, size_t count);

/* Sets a timer again; `due_ms` LOOP_NEVER only removes it. An overdue timer fires in the next turn;
 * in order of their moments. 0 or -ENOMEM. */
int loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t due_ms,
                   void (*fire)(struct loop_timer *t));
void loop_timer_remove(struct loop_timer *t);

/* Milliseconds of the boot clock, read at the call; and of the real-time clock since 1970. */
uint64_t loop_now_ms(void);
uint64_t loop_wall_ms(void);

/* Microseconds, to measure how long work takes: see clock_work_us(). */
uint64_t loop_work_us(void);

/* Waits for the next thing and does what is due. */
void loop_turn(struct loop *l);

/* The same without waiting. Gives how many descriptors were ready; LOOP_BATCH: perhaps more are. */
enum { LOOP_BATCH = 64 };
int loop_poll(struct loop *l);

/* Turns until loop_stop() was called. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

#endif
