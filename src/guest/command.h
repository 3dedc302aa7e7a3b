/*
 * guest/command.h - one command, from a WIRE_EXEC message to a running process.
 */
#ifndef CARREL_GUEST_COMMAND_H
#define CARREL_GUEST_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/command.h"

struct command {
        struct wire_exec head;
        char **argv, **envp;    /* NULL-terminated, in the caller's storage */
        const char *cwd, *path; /* path: the value of PATH in envp, or a default */
        int stdio[3];           /* descriptors for 0, 1, 2 */
        int group;              /* an open cgroup.procs to join, -1 if none */
};

/* Reads a message with wire_command_read(), and finds PATH. */
int command_read(const struct wire_message *m, char *body, char **pointers, size_t room,
                 struct command *ret);

/* -- two ways to start it, each in its own session; only where no payload can trace the caller - */

/*
 * Neither of the two waits for another process. Both return the pid, or -errno. `ret_report` is a
 * non-blocking descriptor that the caller owns. It reports the end of the start: end of file when
 * the program was executed or the child ended before. command_fork() alone first sends a struct
 * command_attempt if the program could not be executed.
 */
struct command_attempt {
        volatile int sys;        /* the errno of the failure; 0: no failure so far */
        volatile uint32_t stage; /* enum wire_exec_stage */
};

pid_t command_fork(const struct command *c, int *ret_report);

/*
 * The faster way: the child shares this process's memory until it executes, so no page is copied.
 * Until the report ends, `c` and its strings must not change, and no second child may be started in
 * this way. Afterwards `ret` contains the result. -ENOTSUP if the system cannot do this.
 */
pid_t command_share(const struct command *c, struct command_attempt *ret, int *ret_report);

/*
 * Like command_share(), but waits for the result. If the child was stopped before it executed, this
 * wakes it. Returns the pid, or a negative errno with the stage that failed. Only for a process
 * that has no other child and has blocked SIGCHLD.
 */
pid_t command_start(const struct command *c, enum wire_exec_stage *ret_stage);

/* Does it get standard settings (command_freshen())? Not with WIRE_EXEC_AS_CALLER. */
bool command_is_fresh(const struct command *c);

/*
 * Sets standard signals, umask, niceness and personality of this process; each child inherits them.
 * This is done once, because sixty calls in every child take a tenth of the time of a short
 * command. No later code of a guest changes them.
 */
void command_freshen(void);

/*
 * The part of it that a box inherits from a spawner, which does it once for all: standard signals,
 * and limits of the caller as high as they may be. Later calls do nothing, in children too.
 */
void command_freshen_inherited(void);

/* -- what a child does to itself, in this order; also for children that execute no program ----- */

enum {
        COMMAND_KEPT = 3
}; /* the only descriptor besides 0, 1, 2 that may stay
    * open */

/*
 * Joins the group and starts a session (unless WIRE_EXEC_AS_CALLER), then calls command_dress(). 0
 * or -errno.
 */
int command_prepare(const struct command *c, int keep);

/*
 * Sets standard streams, terminal, limits, descriptors and signals. `keep` stays open as
 * COMMAND_KEPT; -1: none. 0 or -errno.
 */
int command_dress(const struct command *c, int keep);

/* Changes to the working directory, which must be inside the sandbox. 0 or -errno. */
int command_enter(const char *cwd);

/*
 * Executes the program, found in c->path as execvp(3) does. Returns only on failure, with -errno.
 */
int command_execute(const struct command *c);

/* Closes every descriptor from `first` on. */
void command_close_from(unsigned first);

#endif
