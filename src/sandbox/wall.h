/*
 * sandbox/wall.h - the wall of one run: its gate is started, told, and started again. Nobody but sandbox/session.h's own includes this.
 *
 *     no gate --start--> told (CONFIG) --the wall came: ADD--> serving --it is gone: held--> no gate
 */
#ifndef CARREL_SANDBOX_WALL_H
#define CARREL_SANDBOX_WALL_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "hold/hold.h"
#include "sandbox/run.h"

struct run_wall {
        const struct run_wall_options *o;      /* NULL: there is no gate */
        struct hold hold;
        int guest;                     /* pid 1, borrowed */
        int gate;                      /* control socket, -1: no gate */
        pid_t pid;
        uint64_t due;                  /* when another is started, UINT64_MAX: not now */
        unsigned starts;
};

/* Begins a gate, before there is a wall. NULL options: there is neither, and pid 1 tells what was refused. Ended with run_wall_free(). Errors: those of the start, ERROR_NO_MEMORY. */
int run_wall_new(struct run_wall **ret, const struct run_wall_options *options, int guest, struct error *e);

/* pid 1 says something about its wall (WIRE_WALL, WIRE_WALL_LISTENED), or what was refused (WIRE_WALL_DENIED). 0, or -1: it broke the rules, or the gate does not take the list. */
int run_wall_hear_guest(struct run_wall *w, struct wire_message *m, void *body, struct error *e);

/* Two entries for poll(2); and what came. -1: the gate does not take the list. All accept NULL. */
void run_wall_poll(const struct run_wall *w, struct pollfd fds[2]);
int run_wall_hear(struct run_wall *w, const struct pollfd fds[2], struct error *e);

/* Starts a gate if one is due. Milliseconds until that is so, UINT64_MAX: nothing is due. */
uint64_t run_wall_look(struct run_wall *w);

/* Nothing is inside any more: waits until the gate has told what it refused, and ends it. */
void run_wall_end(struct run_wall *w);

/* The first; NULL: nothing was refused. */
const struct hold_denial *run_wall_first(const struct run_wall *w);

/* What was refused first, in order; the caller's (free), NULL without any. And how many other requests were. */
struct refusal *run_wall_denials(const struct run_wall *w, size_t *ret_count, uint64_t *ret_more);

void run_wall_free(struct run_wall *w);

#endif
