/*
 * sandbox/session.h - one run in progress: the state that the parts of sandbox/run.h share.
 * Internal to these parts.
 */
#ifndef CARREL_SANDBOX_SESSION_H
#define CARREL_SANDBOX_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/run.h"
#include "sandbox/stream.h"
#include "sandbox/terminal.h"
#include "sandbox/wall.h"

#define SESSION_NEVER UINT64_MAX
#define SESSION_EXEC 1u /* the one command's number in its box */

struct session {
        const struct run_options *o;
        struct backend_box *box;
        int guest, signals;
        struct run_wall *wall; /* NULL: no wall */
        struct stream in, out, err;
        uint64_t budget; /* bytes of output that may still be passed on */
        /* times in milliseconds of the boot clock */
        uint64_t started, deadline, cpu_look, floor_look, grace, late;
        struct terminal_mode mode;
        bool is_decided, was_started, guest_is_done, box_is_done, is_killed;
        bool has_said_refusal; /* the caller has received the first refusal */
        bool is_cut;           /* the runtime ended the command; it did not end by itself */
        struct run_kept *kept;
        size_t kept_count;
        struct outcome outcome;
        struct error error; /* code ERROR_NONE while there is no error */
};

/* The time `span` milliseconds after `start` (SPEC_UNSET: never). */
uint64_t session_after(uint64_t start, uint64_t span);

/* Is standard input our terminal, and is another job in the foreground there? */
bool session_is_in_background(const struct session *s);

/* Sets the word of the outcome once; later calls change nothing. */
void session_decide(struct session *s, enum outcome_word word);

/*
 * Kill every process of the box. session_end() also decides the outcome, and output then waits only
 * briefly for its reader. Both may be called again.
 */
void session_kill(struct session *s);
void session_end(struct session *s, enum outcome_word word);

/* Keeps the first error. */
void session_fail(struct session *s, const struct error *e);

/* The reader is gone: output still in transit is counted as dropped. */
void session_abandon_output(struct session *s);

/*
 * Creates the pipes and the control socket, sends the command in advance, starts the box (start.c).
 */
int session_start(struct session *s, struct error *e);

/* Handle what became readable (hear.c). */
void session_hear_guest(struct session *s);
void session_hear_backend(struct session *s);
void session_hear_signals(struct session *s);
void session_hear_wall(struct session *s, const struct pollfd fds[2]);

/*
 * Does what is due. Returns the milliseconds until the next due time, SESSION_NEVER if there is
 * none (limits.c).
 */
uint64_t session_look_at_limits(struct session *s);
uint64_t session_look_at_drain(struct session *s);

#endif
