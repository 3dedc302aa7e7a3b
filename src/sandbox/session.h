/*
 * sandbox/session.h - one run while it lasts: what the parts of sandbox/run.h share. Nobody else includes this.
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
#define SESSION_EXEC 1u                     /* the one command's number in its box */

struct session {
        const struct run_options *o;
        struct backend_box *box;
        int guest, signals;
        struct run_wall *wall;         /* NULL: there is none */
        struct stream in, out, err;
        uint64_t budget;               /* bytes of output that may still pass */
        uint64_t started, deadline, cpu_look, floor_look, grace, late;   /* moments, milliseconds of the boot clock */
        struct terminal_mode mode;
        bool is_decided, was_started, guest_is_done, box_is_done, is_killed;
        bool has_said_refusal;         /* the caller knows of the first */
        bool is_cut;                   /* we ended it: it did not end by itself */
        struct run_kept *kept;  size_t kept_count;
        struct outcome outcome;
        struct error error;            /* code ERROR_NONE while all is well */
};

/* The moment that many milliseconds after another (SPEC_UNSET: never). */
uint64_t session_after(uint64_t start, uint64_t span);

/* Is its standard input our terminal, and that another job's just now? */
bool session_is_in_background(const struct session *s);

/* Writes the word of the outcome, once: later calls change nothing. */
void session_decide(struct session *s, enum outcome_word word);

/* Ends every process of the box; the second form decides as well, and then output waits for its reader no longer than a moment. Any number of times. */
void session_kill(struct session *s);
void session_end(struct session *s, enum outcome_word word);

/* Keeps the first error. */
void session_fail(struct session *s, const struct error *e);

/* Nobody reads: what is still on its way is counted as dropped. */
void session_abandon_output(struct session *s);

/* Makes the pipes and the control socket, sends the command ahead, begins the box (start.c). */
int session_start(struct session *s, struct error *e);

/* Takes in what became readable (hear.c). */
void session_hear_guest(struct session *s);
void session_hear_backend(struct session *s);
void session_hear_signals(struct session *s);
void session_hear_wall(struct session *s, const struct pollfd fds[2]);

/* Does what is due, and gives the milliseconds until something is due again, SESSION_NEVER if nothing is (limits.c). */
uint64_t session_look_at_limits(struct session *s);
uint64_t session_look_at_drain(struct session *s);

#endif
