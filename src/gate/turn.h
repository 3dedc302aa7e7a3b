/*
 * gate/turn.h - whose turn it is: the work of all walls, a little at a time.
 *
 *     idle --turn_want--> fresh --its part is used up, or it has no more--> waiting --its part is used up--> waiting (at the end)
 *                                                                             \--it has no more--> idle
 *
 * What comes on a descriptor is only noted, as a job of its wall; jobs are done here. A wall whose part is used up waits until every other has had its own, and
 * descriptors are looked at between any two. Who wants little is served before those who want much (deficit round robin, as RFC 8290 has it).
 *
 * What a job costs is the larger of what it says and of the time it took: a machine, a message or a library that is slower than was thought makes no part longer.
 */
#ifndef CARREL_GATE_TURN_H
#define CARREL_GATE_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        TURN_PART = 128,               /* what a wall may use in one turn; about a microsecond each */
        TURN_JOB = 1,                  /* what any job costs, and on top of that: */
        TURN_CONNECTION = 12,          /* accepting, dialling */
        TURN_QUESTION = 6,             /* an answer */
        TURN_DENIAL = 12,              /* finding out whose it was, and telling of it */
        TURN_BYTES = 4096, TURN_JUDGED = 1024          /* that cost 1: passed on, and read to be judged */
};

struct turn;

/* Embedded in what there is to do something for. */
struct job {
        struct turn *turn;             /* NULL: it is in no line */
        struct job *next, **back;
        void (*run)(struct job *j);    /* it may want another turn, end any job, or end its wall's line */
};

struct turns;

enum turn_state { TURN_IDLE, TURN_FRESH, TURN_WAITING };

/* A wall's line. */
struct turn {
        struct turns *turns;
        struct turn *next;
        struct job *first, **last;
        const struct job *only;        /* of a line that closes: no other is taken */
        int64_t left;
        enum turn_state state;
        bool is_paused;                /* nothing of it is done, whatever it wants */
};

struct turn_list { struct turn *first, **last; };
struct turns {
        struct turn_list fresh, waiting;
        uint64_t (*now_us)(void);      /* NULL: what jobs say is all that counts */
        uint64_t since_us;             /* when what runs now began, and */
        int64_t said;                  /* what it said that it used */
};

/* now_us: microseconds of a clock that goes on while this thread works; NULL counts only what jobs say. */
void turns_init(struct turns *t, uint64_t (*now_us)(void));

/* Is there nothing to do? */
bool turns_are_over(const struct turns *t);

/* Does some of the work of one wall. */
void turns_take(struct turns *t);

void turn_begin(struct turns *t, struct turn *turn);

/* Nothing of its line is done any more. Accepts one that never began. */
void turn_end(struct turn *turn);

/* Nothing of its line is done any more but this one, which ends it. */
void turn_close(struct turn *turn, struct job *j, void (*run)(struct job *j));

/* At the end of its line, once. */
void turn_want(struct turn *turn, struct job *j, void (*run)(struct job *j));

/*
 * From now on nothing of it is done, and what it wants waits; the job that runs should come to its end (turn_is_used()). Until turn_resume(): then it waits with those whose part
 * is used up, so that to pause makes nobody fresh. turn_close() resumes as well.
 */
void turn_pause(struct turn *turn);
void turn_resume(struct turn *turn);

/* Takes it out of its line, if it is in one. */
void job_end(struct job *j);

/* What the job that runs has used; and has its wall used all of its part, or is it paused? Then the job should want another turn. */
void turn_use(struct turn *turn, size_t cost);
bool turn_is_used(struct turn *turn);

#endif
