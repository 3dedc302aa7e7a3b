/*
 * gate/turn.h - a scheduler: does the work of all walls in small parts.
 *
 *     idle --turn_want--> fresh --part used up--> waiting --part used up--> waiting (at the end)
 *                           \--no more work--> idle         \--no more work--> idle
 *
 * An event on a descriptor is only noted, as a job of its wall; jobs run here. A wall whose part is
 * used up waits until every other wall had its own part. Descriptors are polled between any two
 * walls. Walls with little work run before those with much (deficit round robin, as in RFC 8290).
 *
 * A job costs the larger of its declared cost and the time it took. So a slow machine, message or
 * library does not extend a wall's part.
 */
#ifndef CARREL_GATE_TURN_H
#define CARREL_GATE_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        TURN_PART = 128,      /* cost that a wall may use in one turn; 1 is about 1 us */
        TURN_JOB = 1,         /* base cost of any job; in addition: */
        TURN_CONNECTION = 12, /* accept, connect */
        TURN_QUESTION = 6,    /* an answer */
        TURN_DENIAL = 12,     /* to find its exec and report it */
        /* bytes per unit of cost: passed on; read and judged */
        TURN_BYTES = 4096,
        TURN_JUDGED = 1024
};

struct turn;

/* Embedded in the struct that has work to do. */
struct job {
        struct turn *turn; /* NULL: not queued */
        struct job *next, **back;
        void (*run)(struct job *j); /* it may queue itself again, end any job, or end its wall's
                                     * queue */
};

struct turns;

enum turn_state { TURN_IDLE, TURN_FRESH, TURN_WAITING };

/* The queue of a wall. */
struct turn {
        struct turns *turns;
        struct turn *next;
        struct job *first, **last;
        const struct job *only; /* of a closing queue: no other job runs */
        int64_t left;
        enum turn_state state;
        bool is_paused; /* no job runs, even if queued */
};

struct turn_list {
        struct turn *first, **last;
};
struct turns {
        struct turn_list fresh, waiting;
        uint64_t (*now_us)(void); /* NULL: only declared costs count */
        uint64_t since_us;        /* when the current job began, and */
        int64_t said;             /* the cost that it declared */
};

/*
 * now_us: microseconds of a clock that runs while this thread works. NULL: only declared costs
 * count.
 */
void turns_init(struct turns *t, uint64_t (*now_us)(void));

/* True: no work is left. */
bool turns_are_over(const struct turns *t);

/* Does a part of the work of one wall. */
void turns_take(struct turns *t);

void turn_begin(struct turns *t, struct turn *turn);

/* No job of this queue runs any more. Accepts a queue that never began. */
void turn_end(struct turn *turn);

/* From now on only this job runs, which ends the queue. */
void turn_close(struct turn *turn, struct job *j, void (*run)(struct job *j));

/* Appends the job to its queue, once. */
void turn_want(struct turn *turn, struct job *j, void (*run)(struct job *j));

/*
 * Pauses: from now on no job of this queue runs, and new jobs wait. The current job should return
 * soon (turn_is_used()). After turn_resume() the queue waits with those whose part is used up, so a
 * pause gives no advantage. turn_close() resumes as well.
 */
void turn_pause(struct turn *turn);
void turn_resume(struct turn *turn);

/* Removes the job from its queue, if it is in one. */
void job_end(struct job *j);

/*
 * turn_use() adds to the cost of the current job. turn_is_used(): the wall's part is used up, or it
 * is paused; then the job should queue itself again and return.
 */
void turn_use(struct turn *turn, size_t cost);
bool turn_is_used(struct turn *turn);

#endif
