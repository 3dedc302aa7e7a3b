/*
 * run/wall.h - the gate of one run: starts it, sends it the list, restarts it; what it refused.
 * The functions are internal to the parts that share run/session.h.
 *
 *     no gate --start--> configured (CONFIG) --the box hands the wall out: ADD--> serving --gate
 * ends--> no gate
 */
#ifndef CARREL_RUN_WALL_H
#define CARREL_RUN_WALL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "boxstate/refusals.h"
#include "spec/spec.h"
#include "wire/gate.h"
#include "wire/message.h"

/* Where the gate writes what servers answer (egress/transcript.h), and, for a replay, the
 * recording: then `start` must start a gate that may not dial. Files in memory, borrowed. */
struct run_wall_transcript {
        int to, from; /* from -1: no replay */
};

/* The lists of network.egress, if it lists anything. Everything is borrowed. */
struct run_wall_options {
        const char *id;                         /* of the sandbox */
        struct spec_names allow, private_names; /* as network.egress writes them */
        /* the host's; empty: the resolvers of resolv.conf, and no private network */
        struct spec_names resolvers, networks;
        struct wire_gate_caps caps;
        const struct run_wall_transcript *transcript; /* NULL: none */
        /* Called if the gate rejects a changed list (struct run_options, `changed`): that of before
         * stays. */
        void (*rejected)(int sys);
        /* Starts a gate: gives its control socket (owned by the caller, non-blocking) and its
         * process. Called again when the gate ends. */
        int (*start)(int *ret_control, pid_t *ret_pid, struct error *e);
};

struct run_wall {
        const struct run_wall_options *o; /* NULL: there is no gate */
        int box;                          /* socket, borrowed */
        int gate;                         /* control socket, -1: no gate */
        pid_t pid;
        uint64_t due; /* when to start the next gate, at the end when to kill it; UINT64_MAX: never
                       */
        unsigned starts;
        uint32_t generation;                   /* of the list */
        const struct run_wall_options *before; /* the list that the gate last accepted */
        bool has_written;                      /* a gate got the transcript */
        bool is_there;                         /* the box has the wall */
        bool is_served;                        /* by the gate that runs now */
        bool is_down;                          /* at the end there was no gate */
        bool is_over;             /* no process is inside any more: no other gate starts */
        struct refusals refusals; /* as the box counts them */
};

/*
 * Starts a gate, before there is a wall; `box` is set later. NULL options: neither gate nor wall,
 * and pid 1 reports refusals. Free it with run_wall_free(). Errors: those of the start,
 * ERROR_NO_MEMORY.
 */
int run_wall_new(struct run_wall **ret, const struct run_wall_options *options, struct error *e);

/*
 * Handles a message of the box about its wall (WIRE_BOX_READY, WIRE_BOX_WALLED), or about a refusal
 * (WIRE_BOX_REFUSED). Returns 0, or -1 if the wall cannot be sent to the gate.
 */
int run_wall_hear_box(struct run_wall *w, struct wire_message *m, const void *body,
                      struct error *e);

/* What to poll for; then handles what arrived. -1: the gate rejects the list. */
struct pollfd run_wall_poll(const struct run_wall *w);
int run_wall_hear_gate(struct run_wall *w, const struct pollfd *fd, struct error *e);

/*
 * Starts a gate if one is due; kills one that hangs at the end. Returns the milliseconds until
 * then, UINT64_MAX if nothing is due.
 */
uint64_t run_wall_look(struct run_wall *w);

/*
 * Another list applies from now on; connections that it does not allow are reset. Everything but
 * allow and private_names must be as before. If the gate rejects it, the list of before stays, and
 * options->rejected is called.
 */
void run_wall_change(struct run_wall *w, const struct run_wall_options *options);

/* There is a wall, and no gate serves it. */
bool run_wall_is_down(const struct run_wall *w);

/*
 * No process is inside any more: the gate reports its last connections and refusals to the box, and
 * closes the link. run_wall_look() kills it if it does not end.
 */
void run_wall_end(struct run_wall *w);

/* The first refusal; NULL: none. */
const struct wire_wall_denied *run_wall_first(const struct run_wall *w);

/*
 * Gives the refusals in order of first occurrence; the caller frees them. NULL without any.
 * ret_more receives the number of other refused requests. Accepts NULL.
 */
struct refusal *run_wall_denials(const struct run_wall *w, size_t *ret_count, uint64_t *ret_more);

/* The same, of one of several commands. */
struct refusal *run_wall_denials_of(const struct run_wall *w, uint32_t exec, size_t *ret_count,
                                    uint64_t *ret_more);

void run_wall_free(struct run_wall *w);

#endif
