/*
 * box/state.h - what the parts of a box process share: the box, its execs, their channels, its keepers.
 *
 * One process serves one sandbox from one loop. Nothing here is ever waited for but by that loop: every descriptor is
 * non-blocking, and whoever cannot take what he is told has it kept for him, up to a bound.
 */
#ifndef CARREL_BOX_STATE_H
#define CARREL_BOX_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "box/groups.h"
#include "box/journal.h"
#include "box/log.h"
#include "box/queue.h"
#include "hold/hold.h"
#include "loop/loop.h"
#include "wire/box.h"
#include "wire/channel.h"
#include "wire/message.h"

#define BOX_NEVER UINT64_MAX
#define box_holder(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

enum {
        EXECS_MAX = 4096,              /* that run at once */
        EXECS_KEPT_MAX = 256,          /* finished ones that are remembered */
        EXECS_LINGERING_MAX = 256,     /* finished ones whose pipes somebody still holds */
        KEEPERS_MAX = 16, CONNECTS_MAX = 256, FLOORS_MAX = 160, COUNTERS_MAX = 8,
        INPUT_MAX = 64 * 1024,         /* bytes of standard input that may wait */
        CHUNK = 128 * 1024,            /* bytes read from a pipe, or said in a frame, at a time */
};
#define LOGS_KEPT_MAX (64ull << 20)    /* bytes of finished execs' logs, together */

struct box;
struct exec;

struct output {                        /* one of an exec's two streams */
        struct loop_watch watch;       /* not watched while readers who must lose none are a whole log behind */
        int fd;                        /* owned; -1 once it is over */
        struct exec *exec;
        struct log log;
        uint64_t beyond;               /* bytes past the output limit, dropped */
        uint64_t left;                 /* after the end: bytes of the command still in the pipe, for readers who must lose none */
        unsigned is_full_twice;        /* reads that filled their room: the pipe may be larger */
};

struct input {                         /* an exec's standard input */
        struct loop_watch watch;       /* while bytes wait */
        int fd;                        /* owned, -1 once it is closed */
        unsigned char *bytes;
        size_t at, len;
        unsigned wants_end;
};

struct channel {
        struct channel *next;          /* of the exec's others */
        struct exec *exec;
        struct loop_watch watch;       /* fd: owned */
        int fd;
        uint64_t at[2];                /* the next byte of each stream */
        uint64_t missed;
        uint64_t said;                 /* where it says the whole input: how much of it so far */
        unsigned char *rest;           /* what the socket did not take */
        size_t rest_at, rest_len;
        struct channel_frame head;     /* of the frame that is coming in */
        size_t head_got, body_got, body_left;
        unsigned char body[16];        /* of a small frame */
        uint64_t by;                   /* number of the keeper that brought it */
        struct loop_timer patience;    /* while is_kept */
        unsigned is_handed : 1;        /* its caller has the other end */
        unsigned is_repeat : 1;        /* of a call that was made again */
        unsigned is_kept : 1;          /* its other end was closed before a caller had it: the place of whoever makes the call again; fd may be -1 */
        unsigned is_owner : 1, says_whole : 1, is_lossless : 1, is_detached : 1, said_started : 1, said_end : 1, is_hung : 1, is_deaf : 1, is_broken : 1;
};

struct exec {
        struct box *box;
        struct exec *next, *previous;  /* newest first */
        uint32_t number, flags, wire_flags, state;
        int32_t pid;
        uint32_t word;                 /* decided before its end; UINT32_MAX: not */
        char key[BOX_KEY_LEN], task[BOX_KEY_LEN], command[128];
        uint64_t begun_ms, started_ms, deadline_ms, timeout_ms, frozen_before_ms, cpu_ms, budget;
        uint64_t pids_refused_before;  /* counted at its begin */
        uint64_t oom_kills_before, oom_own;    /* counted at its begin; of its own processes for certain */
        uint64_t overdue_left_ms, looked_ms;   /* it was killed: how long its end is still waited for, in time that the box could use; and when it last looked */
        struct loop_timer timer;
        struct output out[2];
        struct input in;
        uint64_t heard;                /* bytes of the call's input: with one key several say the same */
        int theirs[3];                 /* the command's ends of its pipes, or -1: 0 until it is sent, 1 and 2 until it has ended */
        struct group *group;
        struct channel *channels;      /* oldest first */
        struct channel_end end;
        struct wire_exec_failed failed;
        uint64_t lingers;              /* since when, as a count; 0: not */
        uint64_t kept_bytes;           /* of its logs, once it is over */
        unsigned is_sent : 1, is_over : 1, is_tree : 1;
        unsigned is_overdue : 1;       /* killed, and its end is waited for no longer than a moment */
        unsigned is_alone : 1;         /* it has ended, and nothing of it runs any more: nobody else holds its pipes */
        void *waiting;                 /* while there is no box yet, or it is frozen: the message for pid 1 */
        size_t waiting_len;
};

struct keeper {
        struct keeper *next;
        struct box *box;
        uint64_t number;
        struct loop_watch watch;
        struct queue queue;
        unsigned wants_frozen;         /* an answer to FREEZE is owed */
        uint64_t said_refusals;        /* it was told what had changed by this version (hold/refusals.h) */
};

struct ahead {                         /* a child of pid 1 that is ready to be the next command (ahead.c) */
        struct group *group;           /* where it is; NULL: there is none */
        uint32_t number;               /* of the last one */
        uint64_t last_ms;              /* when an exec was begun last; 0: never */
        uint64_t kills;                /* for want of memory, seen when one was wanted */
        struct loop_timer timer;
};

struct connect {                       /* a port inside that a keeper asked for */
        struct keeper *keeper;
        uint32_t request, asked;       /* ours, and his */
};

enum box_state { BOX_MAKING, BOX_RUNNING, BOX_ENDING, BOX_OVER };

struct box {
        struct loop *loop;
        struct wire_box_begin begin;
        enum box_state state;
        unsigned is_ready, has_begun, has_guest, has_maker, is_freezing, is_frozen, has_failed, is_stuck;   /* is_stuck: a name could not be moved away; is_freezing: asked for, and not thawed since */
        uint32_t protocol;
        uint64_t started_ms, frozen_ms, frozen_since_ms;
        int directory;
        struct loop_watch maker, guest, listener, freezer;
        struct queue to_guest;
        struct keeper *keepers;
        uint64_t last_keeper, speaker; /* numbers: the last that came; whose message is served */
        struct exec *execs, *oldest;
        uint32_t last_number, running, starting, kept;
        uint64_t kept_bytes, linger_count, lingering;
        unsigned busy;                 /* walks over the table under way: nothing is forgotten meanwhile */
        struct groups groups;
        struct journal journal;
        struct wire_box_gone gone;
        struct loop_timer deadline, floor, late, deaf, hush;
        struct ahead ahead;
        unsigned is_busy, is_idle;     /* as the maker was told; as pid 1 said last */
        struct loop_timer quiet;
        uint64_t quiet_ms;             /* until its next look */
        uint64_t spare_idle_ms;        /* a spare waits so long after the last exec; 0: there is never one */
        uint64_t overdue_ms;           /* an exec that was killed may take so long to end */
        int listening;
        int floors[FLOORS_MAX];
        size_t floor_count;
        int pids_counter;              /* pids.events, -1: none */
        int oom_counter;               /* memory.events or memory.oom_control, -1: none */
        uint64_t oom_seen;             /* kills that are somebody's, or nobody's we know */
        int cpu_counter, cpu_is_stat;  /* where no v2 group counts */
        struct connect connects[CONNECTS_MAX];
        uint32_t last_connect;
        struct hold wall;              /* touched only where there is one */
        struct loop_watch link;        /* to the gate */
};

/* -- box.c: the whole --------------------------------------------------------------------------------------------- */
void box_end(struct box *b, enum box_gone cause);              /* begins the end; the first cause counts */
void box_say_guest(struct box *b, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count); /* `fds` stay the caller's */
uint32_t box_word(const struct box *b);                        /* how an exec ends that the end of the box takes along */
void box_hear_guest(struct box *b);                            /* all that pid 1 has said so far; execs may be gone after */
void box_check_over(struct box *b);                            /* may the process end? */

/* -- exec.c: the table and the course of one exec ------------------------------------------------------------------ */
struct exec *exec_find(struct box *b, uint32_t number);
struct exec *exec_find_key(struct box *b, const char *key);
struct exec *exec_add(struct box *b);                          /* zeroed, with its number to be set; NULL without memory */
void exec_free(struct exec *x);
void exec_start(struct box *b, const struct wire_box_exec *ask, void *wire, size_t wire_len, int take_channel);
void exec_started(struct exec *x, int32_t pid, int take_master);
void exec_failed(struct exec *x, const struct wire_exec_failed *failed);
void exec_ended(struct exec *x, const struct wire_exec_ended *ended);
void exec_lost(struct exec *x, uint32_t word);                 /* pid 1 is gone: its end is ours to tell */
void exec_kill(struct exec *x, uint32_t word);
void exec_send_waiting(struct box *b);                         /* made, or thawed: what came meanwhile */
void exec_list(const struct exec *x, struct wire_box_listed *ret);
void exec_prune(struct box *b);
uint64_t box_frozen_ms(const struct box *b);                   /* in all, until now */

/* -- limits.c ------------------------------------------------------------------------------------------------------ */
void limits_overdue(struct exec *x);                           /* it was killed: if it does not end, the box does */
void limits_watch(struct exec *x);                             /* sets the exec's timer anew */
void limits_deadline(struct box *b, uint64_t deadline_ms);
void limits_floor(struct box *b);                              /* begins to look while something runs */
void limits_take_counter(struct box *b, int take_fd);
uint64_t limits_oom_kills(const struct box *b);
uint64_t limits_pids_refused(const struct box *b);             /* tasks that were not started for limits.pids; 0 where nothing counts them */
void limits_credit_oom(struct box *b);                         /* before an exec begins or ends: kills since the last time are of the one that runs alone */
uint64_t limits_cpu_ns(const struct box *b);

/* -- quiet.c ------------------------------------------------------------------------------------------------------- */
int quiet_end(struct box *b);                                  /* before an exec is sent to pid 1: 0 or -errno, and then it may not be */
void quiet_look(struct box *b);                                /* an exec is over: does anything still run? */
void quiet_heard(struct box *b);                               /* pid 1 says that it has no child left */

/* -- ahead.c ------------------------------------------------------------------------------------------------------- */
void ahead_want(struct box *b);                                /* soon, when nothing more urgent is begun */
void ahead_begun(struct box *b);                               /* an exec is begun, with one or without */
struct group *ahead_take(struct box *b, uint32_t *ret_number); /* for an exec that is begun now; NULL: there is none */
void ahead_drop(struct box *b);

/* -- output.c ------------------------------------------------------------------------------------------------------ */
int output_open(struct output *o, struct exec *x, int take_fd);
void output_watch(struct output *o);                           /* begins or ends reading, as its readers need */
void output_close(struct output *o);
void output_finish(struct exec *x);                            /* the command has ended: what is in the pipes now, and no more */
uint64_t output_bytes(const struct output *o);

/* -- input.c ------------------------------------------------------------------------------------------------------- */
void input_init(struct exec *x, int take_fd);
void input_put(struct exec *x, const unsigned char *bytes, size_t len);
void input_end(struct exec *x);
void input_close(struct exec *x);

/* Who looks on; who made the same call again, with all its input or with what was given before; whose it is. */
enum channel_of { CHANNEL_OF_OTHERS, CHANNEL_OF_SAME_CALL, CHANNEL_OF_REPEAT, CHANNEL_OF_OWNER };

/* -- channel.c ----------------------------------------------------------------------------------------------------- */
void channel_open(struct exec *x, int take_fd, enum channel_of of, unsigned is_lossless, uint64_t out_offset, uint64_t err_offset);
void channel_refuse(int take_fd, const struct wire_exec_failed *failed);
void channel_push(struct channel *c);                          /* says what can be said; may end the channel */
void channel_push_all(struct exec *x);
void channel_feed_all(struct exec *x);                         /* standard input has room again */
void channel_free(struct channel *c);

/* -- handover.c ---------------------------------------------------------------------------------------------------- */
int handover_has_owner(const struct exec *x);                  /* is anybody there, or expected, whose going ends it? */
int handover_keep(struct channel *c);                          /* its other end is closed. 1: it stays, for the call that is made again */
void handover_adopt(struct channel *c);                        /* of such a call: what was kept for it is its own */
void handover_done(struct exec *x, uint64_t keeper);           /* the caller has the other end of the last channel that this keeper brought */
int handover_says_detach(const struct channel *c);             /* does what was said and is not read yet leave the exec running? */

/* -- keeper.c ------------------------------------------------------------------------------------------------------ */
int keeper_open(struct box *b, int take_fd);
void keeper_say_all(struct box *b, uint16_t kind, const void *body, size_t len);
void keeper_say(struct keeper *k, uint16_t kind, const void *body, size_t len);
void keeper_close(struct keeper *k);
void keeper_watch(struct keeper *k);                           /* looks for room where something waits */
void keeper_connected(struct box *b, const struct wire_connected *answer, int take_fd);

/* -- wall.c -------------------------------------------------------------------------------------------------------- */
void wall_init(struct box *b);
int wall_hear(struct box *b, struct wire_message *m, const void *body);        /* WIRE_WALL, WIRE_WALL_LISTENED and WIRE_WALL_DENIED. 0, or -errno: it broke the rules */
void wall_hand_out(struct keeper *k);                          /* answers WIRE_BOX_WALL */
void wall_say_denials(struct keeper *k, int always);           /* what changed since it was told; else only where nothing waits for it */
uint32_t wall_denied(struct box *b, const struct exec *x);      /* hears what its gate has told so far; how often this one was refused something */
void wall_forget(struct box *b, const struct exec *x, int is_known);   /* it has ended, is_known 0: and is not known any more */

/* -- freeze.c ------------------------------------------------------------------------------------------------------ */
void freeze_ask(struct keeper *k, int is_wanted);
void freeze_thaw_now(struct box *b);

#endif
