/*
 * guest/spare.h - a spare: a child of pid 1, started in advance in its control group, that waits to
 * become a command.
 *
 * Joining a group can take many milliseconds, because the kernel waits for every processor. So it
 * happens while no command waits for it. The box says when it wants a spare and in which group
 * (WIRE_SPARE), and with a command whether to use it (struct wire_exec). The spare may fail at any
 * time. Pid 1 keeps the message and its descriptors until the spare has become the command; if the
 * spare is lost before, the command is started the ordinary way. There is at most one spare, and
 * none without control groups.
 */
#ifndef CARREL_GUEST_SPARE_H
#define CARREL_GUEST_SPARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/command.h"

enum {
        SPARE_FDS = 6
}; /* most descriptors that pid 1 needs for it: both ends of its
    * socket, and those kept */

enum spare_word { SPARE_QUIET, SPARE_STARTED, SPARE_FAILED, SPARE_LOST };

struct spare_mark;
struct spare {
        uint32_t number; /* chosen by the box; 0: no spare waits */
        pid_t pid;
        int socket;              /* pid 1's end of its socket; -1: no spare, or its start is
                                  * decided */
        struct spare_mark *mark; /* NULL before the first spare */
        uint32_t exec;           /* the exec that it becomes; 0: none */
        char *kept;              /* the message of that exec, in memory that no child
                                  * inherits */
        size_t kept_len;
        int stdio[3], group; /* and its descriptors, owned */
};

/* `s` is zeroed. */
void spare_init(struct spare *s);

/*
 * Starts a spare and replaces one that waits. `group`, an open cgroup.procs, stays the caller's.
 * Does nothing if that fails, or if a spare is becoming a command.
 */
void spare_make(struct spare *s, uint32_t number, int group);

/* Drops the spare that waits. */
void spare_drop(struct spare *s);

/* True: the spare could become this command. */
int spare_serves(const struct spare *s, const struct command *c);

/*
 * Makes the spare become `c`, whose message is `body`. 0: the order was sent, and the spare owns
 * the descriptors of `c` (spare_settle() closes them). -errno: the spare is gone, and nothing has
 * changed.
 */
int spare_pass(struct spare *s, const struct command *c, const char *body, size_t len);

/*
 * The result of that order. SPARE_QUIET: none yet. SPARE_STARTED: s->pid is the command.
 * SPARE_FAILED: *ret_sys at *ret_stage. SPARE_LOST: the spare ended first, so start the command
 * another way; spare_again() reads it again. After any but SPARE_QUIET, call spare_settle().
 */
enum spare_word spare_hear(struct spare *s, int *ret_sys, enum wire_exec_stage *ret_stage);

/* 0 or -errno; the spare keeps strings and descriptors until spare_settle(). */
int spare_again(struct spare *s, char **pointers, size_t room, struct command *ret);
void spare_settle(struct spare *s);

#endif
