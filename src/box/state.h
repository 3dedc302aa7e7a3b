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
 *     channel  limits  one  wall  streams
 *     handover keeper                links
 *     input output witness log queue journal engine      know nothing of a box
 */
#ifndef CARREL_BOX_STATE_H
#define CARREL_BOX_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "box/engine.h"
#include "box/input.h"
#include "box/journal.h"
#include "box/output.h"
#include "box/witness.h"
#include "boxstate/found.h"
#include "boxstate/wall_state.h"
#include "loop/loop.h"
#include "wire/box.h"
#include "wire/channel.h"
#include "wire/message.h"

#define BOX_NEVER UINT64_MAX

enum { CONNECTS_MAX = 256, FLOORS_MAX = 160 };

struct box;
struct channel;
struct exec;
struct keeper;
struct puts;

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
        /* its socket took what was queued: reports what was held back */
        void (*drained)(struct keeper *k);
};

struct box_meter { /* of the execs that ended, and the connections; box/meter.h */
        uint64_t cpu_ns, cpu_most_ns, memory_peak_kb, execs, output_bytes;
        uint64_t egress_out, egress_in;
        /* memory over time, what was in use at the last look, and when that was */
        uint64_t memory_kb_ms, memory_kb, looked_ms;
        /* the same of disks; volumes_kb: as the keeper last said */
        uint64_t storage_kb_ms, storage_kb, volumes_kb;
        unsigned has_egress, has_memory, has_storage, has_volumes;
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
        int upper; /* of WIRE_BOX_UPPER; -1: none */
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
        struct loop_timer deadline, floor, late, deaf, hush, memory;
        uint64_t overdue_ms; /* time that a killed exec may take to end */
        int listening;
        int floors[FLOORS_MAX];
        size_t floor_count;
        uint64_t oom_seen; /* kills that are assigned to an exec, or cannot be */
        struct connect connects[CONNECTS_MAX];
        uint32_t last_connect;
        struct found found;              /* what commands left behind */
        struct {                         /* a change of limits that its keeper has not stored */
                uint64_t keeper, number; /* 0: there is none */
        } changed;
        struct box_meter meter;
        struct one one;
        struct wall_state wall; /* used only if there is a wall */
        /* connections, and executions, that no keeper was sent */
        uint32_t allowed_missed, executed_missed;
        struct loop_watch link; /* to the gate */
};

/* -- one command (box/exec.h) ------------------------------------------------------------------ */

struct exec_calls {
        /* A channel is closed and freed. is_owner: its disconnect ends a foreground exec that has
         * no other owner. May free the exec */
        void (*left)(struct exec *x, unsigned is_owner);
        /* a limit was reached: kills the whole tree. `word`: enum outcome_word */
        void (*kill)(struct exec *x, uint32_t word);
        /* it ended without a report of the engine. May free the exec */
        void (*lose)(struct exec *x, uint32_t word);
};

struct exec {
        struct box *box;
        const struct exec_calls *calls;
        struct exec *next, *previous; /* newest first */
        uint32_t number, flags, wire_flags, state;
        int32_t pid;
        uint32_t word;       /* end state decided before its end; UINT32_MAX: none */
        unsigned outer_time; /* OUTCOME_TASK_TIME if the word is OUTCOME_TIMED_OUT for its task */
        char key[BOX_KEY_LEN], task[BOX_KEY_LEN], command[BOX_COMMAND_LEN];
        uint64_t begun_ms, started_ms, deadline_ms, timeout_ms, frozen_before_ms, cpu_ms, budget;
        uint64_t pids_refused_before;       /* as of its begin */
        uint64_t oom_kills_before, oom_own; /* as of its begin; kills that are certainly of its
                                             * own processes */
        /* after a kill: remaining time to wait for its end, counted only while the box could run;
         * and the time of the last look */
        uint64_t overdue_left_ms, looked_ms;
        struct loop_timer timer;
        struct output out[2];
        struct input in;
        struct witness seen[BOX_STREAMS]; /* of input, output and error, for the audit log */
        struct puts *puts;                /* of a call that writes files: which; owned, or NULL */
        uint64_t heard; /* bytes of the call's input: several channels with one key
                         * send the same bytes */
        /* the command's ends of its pipes, or -1: 0 is kept until it is sent, 1 and 2 until the end
         * of the exec */
        int theirs[3];
        struct job job;           /* the engine's view of it */
        struct channel *channels; /* oldest first */
        struct channel_end end;
        struct wire_exec_failed failed;
        uint64_t lingers;    /* order of lingering execs, as a count; 0: not lingering */
        uint64_t kept_bytes; /* of its logs, after its end */
        unsigned is_sent : 1, is_over : 1;
        /* killed; its end is waited for only a moment longer */
        unsigned is_overdue : 1;
        /* ended without a live process left: no other process holds its pipes */
        unsigned is_alone : 1;
        void *waiting; /* the command, while the box is starting or frozen */
        size_t waiting_len;
};

/* -- one caller of one command (box/channel.h) ------------------------------------------------- */

struct channel {
        struct channel *next; /* the exec's next channel */
        struct exec *exec;
        struct loop_watch watch; /* fd: owned */
        int fd;
        uint64_t at[2];   /* the next byte of each stream */
        uint64_t from[2]; /* while it holds: the first byte that the log keeps for a repeat */
        uint64_t missed;
        uint64_t said;       /* of a channel that sends the whole input: bytes so far */
        unsigned char *rest; /* bytes that the socket did not take */
        size_t rest_at, rest_len;
        struct channel_frame head; /* of the incoming frame */
        size_t head_got, body_got, body_left;
        unsigned char body[16];     /* of a small frame */
        uint64_t by;                /* number of the keeper that brought it */
        struct loop_timer patience; /* while is_kept, or while the log is full because it holds */
        unsigned is_handed : 1;     /* its caller has the other end */
        unsigned is_repeat : 1;     /* of a call that was made again */
        /* the other end closed before a caller had it: kept for a repeat of the call; fd may be
         * -1 */
        unsigned is_kept : 1;
        unsigned holds : 1; /* handover_hold() */
        unsigned is_owner : 1, says_whole : 1, is_lossless : 1, is_detached : 1, said_started : 1,
                said_end : 1, is_hung : 1, is_deaf : 1, is_broken : 1;
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
