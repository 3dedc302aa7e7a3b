/*
 * box/state.h - the state of the one sandbox that a box process serves.
 *
 * One process serves one sandbox from one loop. Only that loop waits: every descriptor is
 * non-blocking. Output for a slow receiver is queued, up to a limit.
 *
 * Who calls whom, downwards only; what happens below is reported upwards through the calls of
 * struct box_calls, exec_calls, output_user and engine_news:
 *
 *     box                            the life of the box, news of the engine
 *     request                        what keepers ask
 *     freeze
 *     exec                           the table
 *     channel handover  limits  wall
 *     keeper                         links
 *     input output log queue journal engine      know nothing of a box
 */
#ifndef CARREL_BOX_STATE_H
#define CARREL_BOX_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "box/engine.h"
#include "box/journal.h"
#include "boxstate/found.h"
#include "boxstate/wall_state.h"
#include "loop/loop.h"
#include "wire/box.h"

enum { CONNECTS_MAX = 256, FLOORS_MAX = 160 };

struct box;
struct exec;
struct keeper;

struct connect { /* a port inside that a keeper requested */
        struct keeper *keeper;
        uint32_t request, asked; /* of the box; of the keeper */
};

struct one {            /* a box of one command (box/one.h) */
        int streams[3]; /* of the command, as received; owned, or -1 */
        struct engine_ended ended;
        struct engine_gone usage; /* of the whole box */
        uint64_t decided_ms;      /* the command ended, or was killed; 0: not yet */
        unsigned is_on : 1, has_ended : 1, is_reported : 1;
};

enum box_state { BOX_MAKING, BOX_RUNNING, BOX_ENDING, BOX_OVER };

struct box_calls {
        /* starts the end; the first cause counts */
        void (*end)(struct box *b, enum box_gone cause);
        /* ends the process if nothing is left to do */
        void (*check_over)(struct box *b);
        /* the gate has said everything */
        void (*unlinked)(struct box *b);
        /* of keepers: as in box/request.h */
        void (*greet)(struct keeper *k);
        int (*serve)(struct keeper *k);
        void (*forget)(struct keeper *k);
};

struct box {
        struct loop *loop;
        struct engine *engine;
        const struct box_calls *calls;
        struct wire_box_begin begin;
        enum box_state state;
        /* is_freezing: requested, and not thawed since. is_stuck: a name could not be moved
         * away. */
        unsigned is_ready, is_freezing, is_frozen, has_failed, is_stuck, is_over_disk;
        uint32_t protocol;
        uint64_t started_ms, frozen_ms, frozen_since_ms;
        int directory;
        struct loop_watch listener;
        struct keeper *keepers;
        uint64_t last_keeper, speaker; /* numbers: of the last keeper; of the keeper whose message
                                        * is served */
        struct exec *execs, *oldest;
        uint32_t last_number, running, starting, kept;
        uint64_t kept_bytes, linger_count, lingering;
        /* nested walks over the table: no exec is freed meanwhile */
        unsigned busy;
        struct journal journal;
        struct wire_box_gone gone;
        struct loop_timer deadline, floor, late, deaf, hush;
        uint64_t overdue_ms; /* time that a killed exec may take to end */
        int listening;
        int floors[FLOORS_MAX];
        size_t floor_count;
        uint64_t oom_seen; /* kills that are assigned to an exec, or cannot be */
        struct connect connects[CONNECTS_MAX];
        uint32_t last_connect;
        struct found found; /* what commands left behind */
        struct one one;
        struct wall_state wall; /* used only if there is a wall */
        struct loop_watch link; /* to the gate */
};

/* Those of box.c, also for tests that serve no process. */
extern const struct box_calls box_calls;
extern const struct engine_news box_news;

/* total until now */
static inline uint64_t
box_frozen_ms(const struct box *b)
{
        return b->frozen_ms + (b->is_freezing ? loop_now_ms() - b->frozen_since_ms : 0);
}

#endif
