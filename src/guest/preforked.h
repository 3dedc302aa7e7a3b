/*
 * guest/preforked.h - a spare: a child of pid 1, started in advance in its control group, that
 * waits to become a command.
 *
 * Joining a group can take many milliseconds, because the kernel waits for every processor. So it
 * happens while no command waits for it. The box says when it wants a spare and in which group
 * (WIRE_PREFORK), and with a command whether to use it (struct wire_exec). The spare may fail at
 * any time. Pid 1 keeps the message and its descriptors until the spare has become the command; if
 * the spare is lost before, the command is started the ordinary way. There is at most one spare,
 * and none without control groups.
 */
#ifndef CARREL_GUEST_PREFORKED_H
#define CARREL_GUEST_PREFORKED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/command.h"

enum {
        PREFORKED_FDS = 6
}; /* most descriptors that pid 1 needs for it: both ends of its
    * socket, and those kept */

enum preforked_word { PREFORKED_QUIET, PREFORKED_STARTED, PREFORKED_FAILED, PREFORKED_LOST };

struct preforked_mark;
struct preforked {
        uint32_t number; /* chosen by the box; 0: no spare waits */
        pid_t pid;
        int socket;                  /* pid 1's end of its socket; -1: no spare, or its start is
                                      * decided */
        struct preforked_mark *mark; /* NULL before the first spare */
        uint32_t exec;               /* the exec that it becomes; 0: none */
        char *kept;                  /* the message of that exec, in memory that no child
                                      * inherits */
        size_t kept_len;
        int stdio[3], group; /* and its descriptors, owned */
};

/* `s` is zeroed. */
void preforked_init(struct preforked *s);

/*
 * Starts a spare and replaces one that waits. `group`, an open cgroup.procs, stays the caller's.
 * Does nothing if that fails, or if a spare is becoming a command.
 */
void preforked_make(struct preforked *s, uint32_t number, int group);

/* Drops the spare that waits. */
void preforked_drop(struct preforked *s);

/* True: the spare could become this command. */
int preforked_serves(const struct preforked *s, const struct command *c);

/*
 * Makes the spare become `c`, whose message is `body`. 0: the order was sent, and the spare owns
 * the descriptors of `c` (preforked_settle() closes them). -errno: the spare is gone, and nothing
 * has changed.
 */
int preforked_pass(struct preforked *s, const struct command *c, const char *body, size_t len);

/*
 * The result of that order. PREFORKED_QUIET: none yet. PREFORKED_STARTED: s->pid is the command.
 * PREFORKED_FAILED: *ret_sys at *ret_stage. PREFORKED_LOST: the spare ended first, so start the
 * command another way; preforked_again() reads it again. After any but PREFORKED_QUIET, call
 * preforked_settle().
 */
enum preforked_word preforked_hear(struct preforked *s, int *ret_sys,
                                   enum wire_exec_stage *ret_stage);

/* 0 or -errno; the spare keeps strings and descriptors until preforked_settle(). */
int preforked_again(struct preforked *s, char **pointers, size_t room, struct command *ret);
void preforked_settle(struct preforked *s);

#endif
