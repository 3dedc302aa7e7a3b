/*
 * box/state.h - what the parts of a box process share: the box, its execs, their channels, its
 * keepers.
 *
 * One process serves one sandbox from one loop. Only that loop waits: every descriptor is
 * non-blocking. Output for a slow receiver is queued, up to a limit.
 */
#ifndef CARREL_BOX_STATE_H
#define CARREL_BOX_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "box/engine.h"
#include "box/journal.h"
#include "box/log.h"
#include "box/queue.h"
#include "hold/hold.h"
#include "loop/loop.h"
#include "wire/box.h"
#include "wire/channel.h"
#include "wire/message.h"

#define BOX_NEVER UINT64_MAX
#define box_holder(pointer, type, member) \
        ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

enum {
        EXECS_MAX = 4096,          /* running at once */
        EXECS_KEPT_MAX = 256,      /* finished ones that are kept */
        EXECS_LINGERING_MAX = 256, /* finished ones whose pipes a process still holds */
        KEEPERS_MAX = 16,
        CONNECTS_MAX = 256,
        FLOORS_MAX = 160,
        INPUT_MAX = 64 * 1024, /* bytes of queued standard input */
        /* bytes read from a pipe at a time; also the largest frame */
        CHUNK = 128 * 1024,
};
#define LOGS_KEPT_MAX (64ull << 20) /* bytes of the logs of finished execs, together */

struct box;
struct exec;

struct output { /* one of an exec's two streams */
        /* not watched while a reader that must lose nothing is a whole log behind */
        struct loop_watch watch;
        int fd; /* owned; -1 after its end */
        struct exec *exec;
        struct log log;
        uint64_t beyond; /* bytes past the output limit, dropped */
        /* after the end: bytes of the command still in the pipe, for readers that must lose
         * nothing */
        uint64_t left;
        unsigned is_full_twice; /* reads that filled their buffer: the pipe may be larger */
};

struct input {                   /* an exec's standard input */
        struct loop_watch watch; /* while bytes are queued */
        int fd;                  /* owned, -1 once it is closed */
        unsigned char *bytes;
        size_t at, len;
        unsigned wants_end;
};

struct channel {
        struct channel *next; /* the exec's next channel */
        struct exec *exec;
        struct loop_watch watch; /* fd: owned */
        int fd;
        uint64_t at[2]; /* the next byte of each stream */
        uint64_t missed;
        uint64_t said;       /* of a channel that sends the whole input: bytes so far */
        unsigned char *rest; /* bytes that the socket did not take */
        size_t rest_at, rest_len;
        struct channel_frame head; /* of the incoming frame */
        size_t head_got, body_got, body_left;
        unsigned char body[16];     /* of a small frame */
        uint64_t by;                /* number of the keeper that brought it */
        struct loop_timer patience; /* while is_kept */
        unsigned is_handed : 1;     /* its caller has the other end */
        unsigned is_repeat : 1;     /* of a call that was made again */
        /* the other end closed before a caller had it: kept for a repeat of the call; fd may be
         * -1 */
        unsigned is_kept : 1;
        unsigned is_owner : 1, says_whole : 1, is_lossless : 1, is_detached : 1, said_started : 1,
                said_end : 1, is_hung : 1, is_deaf : 1, is_broken : 1;
};

struct exec {
        struct box *box;
        struct exec *next, *previous; /* newest first */
        uint32_t number, flags, wire_flags, state;
        int32_t pid;
        uint32_t word; /* end state decided before its end; UINT32_MAX: none */
        char key[BOX_KEY_LEN], task[BOX_KEY_LEN], command[128];
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

struct keeper {
        struct keeper *next;
        struct box *box;
        uint64_t number;
        struct loop_watch watch;
        struct queue queue;
        unsigned wants_frozen;  /* an answer to FREEZE is owed */
        uint64_t said_refusals; /* version of its last report of refusals
                                 * (hold/refusals.h) */
};

struct connect { /* a port inside that a keeper requested */
        struct keeper *keeper;
        uint32_t request, asked; /* of the box; of the keeper */
};

enum box_state { BOX_MAKING, BOX_RUNNING, BOX_ENDING, BOX_OVER };

struct box {
        struct loop *loop;
        struct engine *engine;
        struct wire_box_begin begin;
        enum box_state state;
        /* is_freezing: requested, and not thawed since. is_stuck: a name could not be moved
         * away. */
        unsigned is_ready, is_freezing, is_frozen, has_failed, is_stuck;
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
        struct hold wall;       /* used only if there is a wall */
        struct loop_watch link; /* to the gate */
};

/* -- box.c: the box itself --------------------------------------------------------------------- */
/* starts the end; the first cause counts */
void box_end(struct box *b, enum box_gone cause);
/* the end state of execs that end with the box */
uint32_t box_word(const struct box *b);
/* handles the engine's news so far; execs may be freed afterwards */
void box_hear(struct box *b);
/* the news of an engine, for this process's box */
extern const struct engine_news box_news;
/* ends the process if nothing is left to do */
void box_check_over(struct box *b);

/* -- exec.c: the table, and the life of an exec ------------------------------------------------ */
struct exec *exec_find(struct box *b, uint32_t number);
struct exec *exec_find_key(struct box *b, const char *key);
/* zeroed, the caller sets its number; NULL: no memory */
struct exec *exec_add(struct box *b);
void exec_free(struct exec *x);
void exec_start(struct box *b, const struct wire_box_exec *ask, void *wire, size_t wire_len,
                int take_channel);
void exec_started(struct exec *x, int32_t pid, int take_master);
void exec_failed(struct exec *x, const struct wire_exec_failed *failed);
void exec_ended(struct exec *x, const struct engine_ended *ended);
/* the engine has ended: the box itself reports the end of the exec */
void exec_lost(struct exec *x, uint32_t word);
void exec_kill(struct exec *x, uint32_t word);
/* started or thawed: sends the messages that were kept */
void exec_send_waiting(struct box *b);
void exec_list(const struct exec *x, struct wire_box_listed *ret);
void exec_prune(struct box *b);
uint64_t box_frozen_ms(const struct box *b); /* total until now */

/* -- limits.c ---------------------------------------------------------------------------------- */
/* it was killed: if it does not end, the box ends */
void limits_overdue(struct exec *x);
void limits_watch(struct exec *x); /* sets the exec's timer */
void limits_deadline(struct box *b, uint64_t deadline_ms);
/* checks free space while an exec runs */
void limits_floor(struct box *b);
uint64_t limits_oom_kills(const struct box *b);
/* tasks that limits.pids refused; 0: not counted */
uint64_t limits_pids_refused(const struct box *b);
/* before an exec begins or ends: assigns kills since the last call to the exec that runs alone */
void limits_credit_oom(struct box *b);
uint64_t limits_cpu_ns(const struct box *b);

/* -- output.c ---------------------------------------------------------------------------------- */
int output_open(struct output *o, struct exec *x, int take_fd);
/* starts or stops reading, as its readers need */
void output_watch(struct output *o);
void output_close(struct output *o);
/* the command has ended: reads what is in the pipes now, and no more */
void output_finish(struct exec *x);
uint64_t output_bytes(const struct output *o);

/* -- input.c ----------------------------------------------------------------------------------- */
void input_init(struct exec *x, int take_fd);
void input_put(struct exec *x, const unsigned char *bytes, size_t len);
void input_end(struct exec *x);
void input_close(struct exec *x);

/*
 * CHANNEL_OF_OTHERS: observes only. SAME_CALL: the same call again, with all its input. REPEAT:
 * again, with the input given before. OWNER: the exec's own call.
 */
enum channel_of { CHANNEL_OF_OTHERS, CHANNEL_OF_SAME_CALL, CHANNEL_OF_REPEAT, CHANNEL_OF_OWNER };

/* -- channel.c --------------------------------------------------------------------------------- */
void channel_open(struct exec *x, int take_fd, enum channel_of of, unsigned is_lossless,
                  uint64_t out_offset, uint64_t err_offset);
void channel_refuse(int take_fd, const struct wire_exec_failed *failed);
/* sends what can be sent; may end the channel */
void channel_push(struct channel *c);
void channel_push_all(struct exec *x);
/* standard input has room again */
void channel_feed_all(struct exec *x);
void channel_free(struct channel *c);

/* -- handover.c -------------------------------------------------------------------------------- */
/* true: a caller exists, or is expected, whose disconnect ends the exec */
int handover_has_owner(const struct exec *x);
/* its other end is closed. 1: the channel stays for a repeat of the call */
int handover_keep(struct channel *c);
/* for such a call: takes over what was kept for it */
void handover_adopt(struct channel *c);
/* the caller has received the other end of the last channel that this keeper brought */
void handover_done(struct exec *x, uint64_t keeper);
/* true: unread input contains the request to detach */
int handover_says_detach(const struct channel *c);

/* -- keeper.c ---------------------------------------------------------------------------------- */
int keeper_open(struct box *b, int take_fd);
void keeper_say_all(struct box *b, uint16_t kind, const void *body, size_t len);
void keeper_say(struct keeper *k, uint16_t kind, const void *body, size_t len);
void keeper_close(struct keeper *k);
/* watches for room in the socket while messages are queued */
void keeper_watch(struct keeper *k);
void keeper_connected(struct box *b, const struct wire_connected *answer, int take_fd);

/* -- wall.c ------------------------------------------------------------------------------------ */
void wall_init(struct box *b);
/* a refusal inside, without a gate. 0, or -errno: it broke the protocol */
int wall_hear_denied(struct box *b, struct wire_wall_denied *d);
void wall_hand_out(struct keeper *k); /* answers WIRE_BOX_WALL */
/* sends what changed since the last report; unless `always`, only if nothing is queued */
void wall_say_denials(struct keeper *k, int always);
/* handles what the gate has reported so far; returns how many refusals this exec had */
uint32_t wall_denied(struct box *b, const struct exec *x);
/* the exec has ended; is_known 0: and was freed */
void wall_forget(struct box *b, const struct exec *x, int is_known);

/* -- freeze.c ---------------------------------------------------------------------------------- */
void freeze_ask(struct keeper *k, int is_wanted);
void freeze_thaw_now(struct box *b);
/* all processes are frozen, or -errno */
void freeze_heard(struct box *b, int result);

#endif
