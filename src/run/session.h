/*
 * run/session.h - one run in progress: the state that the parts of run/run.h share.
 * Internal to these parts.
 */
#ifndef CARREL_RUN_SESSION_H
#define CARREL_RUN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "run/options.h"
#include "run/result.h"
#include "run/stream.h"
#include "run/terminal.h"
#include "run/wall.h"
#include "wire/box.h"

#define SESSION_NEVER UINT64_MAX
#define SESSION_EXEC 1u /* the one command's number in its box */

struct session {
        const struct run_options *o;
        int box, signals; /* the box's socket */
        pid_t maker;      /* waited for; it ends after the box */
        struct run_wall *wall;
        struct stream in, out, err;
        uint64_t budget; /* bytes of output that may still be passed on */
        /* times in milliseconds of the boot clock */
        uint64_t started, grace, late;
        struct terminal_mode mode;
        bool was_started, has_ended, box_is_done;
        bool is_series;        /* other commands follow in the same box (run/series.h) */
        bool has_said_refusal; /* the caller has received the first refusal */
        bool is_cut;           /* the runtime ended the command; it did not end by itself */
        bool is_broken;        /* it cannot go on: `error` says why */
        struct run_kept *kept;
        size_t kept_count;
        struct outcome outcome;
        struct error error; /* code ERROR_NONE while there is no error */
};

/* The time `span` milliseconds after `start` (SPEC_UNSET: never). */
uint64_t session_after(uint64_t start, uint64_t span);

static inline bool
session_has_terminal(const struct session *s)
{
        return (s->o->command.head.flags & WIRE_EXEC_TTY) != 0;
}

/* Does the command keep all of its caller but the network? */
static inline bool
session_is_net_only(const struct session *s)
{
        return (s->o->command.head.flags & WIRE_EXEC_AS_CALLER) != 0;
}

/* Is standard input our terminal, and is another job in the foreground there? */
bool session_is_in_background(const struct session *s);

/* Sends a message to the box. If it is gone, that is heard soon. */
void session_say(const struct session *s, uint16_t kind, const void *body, size_t len);

/* Kills every process of the box, by request. May be called again. */
void session_kill(struct session *s);

/* Keeps the first error. */
void session_fail(struct session *s, const struct error *e);

/* A command never runs behind a wall that does not work: ends everything with this error. */
void session_break(struct session *s, const struct error *e);

/* The reader is gone: output still in transit is counted as dropped. */
void session_abandon_output(struct session *s);

/*
 * Creates the pipes, starts the box, and sends it the command (start.c).
 */
int session_start(struct session *s, struct error *e);

/* Its first part: the gate, and the box, without a command. */
int session_begin(struct session *s, struct error *e);

/* Handle what became readable (hear.c). */
void session_hear_box(struct session *s);
void session_hear_signals(struct session *s);

/* A report of what the command did goes to the caller (fact.c). false: it is none. */
bool session_hear_fact(const struct session *s, const struct wire_message *m, const void *body);

void session_hear_wall(struct session *s, const struct pollfd *gate);

#endif
