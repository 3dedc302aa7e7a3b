/*
 * sandbox/wall.h - the wall of one run: starts its gate, sends it the list, restarts it. Internal
 * to the parts that share sandbox/session.h.
 *
 *     no gate --start--> configured (CONFIG) --wall arrives: ADD--> serving --gate ends: held--> no
 * gate
 */
#ifndef CARREL_SANDBOX_WALL_H
#define CARREL_SANDBOX_WALL_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "hold/hold.h"
#include "sandbox/run.h"

struct run_wall {
        const struct run_wall_options *o; /* NULL: there is no gate */
        struct hold hold;
        int guest; /* pid 1, borrowed */
        int gate;  /* control socket, -1: no gate */
        pid_t pid;
        uint64_t due; /* when to start the next gate, UINT64_MAX: not scheduled */
        unsigned starts;
};

/*
 * Starts a gate, before there is a wall. NULL options: neither gate nor wall, and pid 1 reports
 * refusals. Free it with run_wall_free(). Errors: those of the start, ERROR_NO_MEMORY.
 */
int run_wall_new(struct run_wall **ret, const struct run_wall_options *options, int guest,
                 struct error *e);

/*
 * Handles a message of pid 1 about its wall (WIRE_WALL, WIRE_WALL_LISTENED) or a refusal
 * (WIRE_WALL_DENIED). Returns 0, or -1 if pid 1 broke the protocol or the gate rejects the list.
 */
int run_wall_hear_guest(struct run_wall *w, struct wire_message *m, void *body, struct error *e);

/*
 * Fills two entries for poll(2); then handles what arrived. -1: the gate rejects the list. All
 * accept NULL.
 */
void run_wall_poll(const struct run_wall *w, struct pollfd fds[2]);
int run_wall_hear(struct run_wall *w, const struct pollfd fds[2], struct error *e);

/* Starts a gate if one is due. Returns the milliseconds until then, UINT64_MAX if none is due. */
uint64_t run_wall_look(struct run_wall *w);

/*
 * Call it when no process is inside any more: waits until the gate has sent its refusals, and ends
 * it.
 */
void run_wall_end(struct run_wall *w);

/* The first refusal; NULL: none. */
const struct hold_denial *run_wall_first(const struct run_wall *w);

/*
 * Gives the refusals in order of first occurrence; the caller frees them. NULL without any.
 * ret_more receives the number of other refused requests.
 */
struct refusal *run_wall_denials(const struct run_wall *w, size_t *ret_count, uint64_t *ret_more);

void run_wall_free(struct run_wall *w);

#endif
