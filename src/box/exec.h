/*
 * box/exec.h - one command of a sandbox, from its request until it is forgotten.
 *
 * Callers (box/channel.h) and limits (box/limits.h) of an exec read its fields. What they cause
 * they report with its calls, so that neither knows the table.
 */
#ifndef CARREL_BOX_EXEC_H
#define CARREL_BOX_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "box/engine.h"
#include "box/input.h"
#include "box/output.h"
#include "wire/box.h"
#include "wire/channel.h"

#define BOX_NEVER UINT64_MAX

enum {
        EXECS_MAX = 4096,          /* running at once */
        EXECS_KEPT_MAX = 256,      /* finished ones that are kept */
        EXECS_LINGERING_MAX = 256, /* finished ones whose pipes a process still holds */
};
#define LOGS_KEPT_MAX (64ull << 20) /* bytes of the logs of finished execs, together */

struct box;
struct channel;
struct exec;

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
        uint32_t word; /* end state decided before its end; UINT32_MAX: none */
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

/* NULL: not in the table. */
struct exec *exec_find(struct box *b, uint32_t number);
struct exec *exec_with_key(struct box *b, const char *key);
/* zeroed, the caller sets its number; NULL: no memory */
struct exec *exec_add(struct box *b);
void exec_free(struct exec *x);
void exec_start(struct box *b, const struct wire_box_exec *ask, void *wire, size_t wire_len,
                int take_channel);
void exec_started(struct exec *x, int32_t pid, int take_master);
void exec_failed(struct exec *x, const struct wire_exec_failed *failed);
void exec_ended(struct exec *x, const struct engine_ended *ended);
void exec_kill(struct exec *x, uint32_t word);
/* the engine has ended: the box itself reports the end of each that is not over */
void exec_lose_all(struct box *b);
/* started or thawed: sends the messages that were kept */
void exec_send_waiting(struct box *b);
void exec_list(const struct exec *x, struct wire_box_listed *ret);
void exec_prune(struct box *b);

#endif
