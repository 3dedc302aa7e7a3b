/*
 * guest/command.h - one command, from a WIRE_EXEC message to a running process.
 */
#ifndef CARREL_GUEST_COMMAND_H
#define CARREL_GUEST_COMMAND_H

#include <stddef.h>
#include <sys/types.h>

#include "wire/message.h"

enum { COMMAND_STRINGS_MAX = 40000 };      /* arguments and environment together, in number */

struct command {
        struct wire_exec head;
        char **argv, **envp;       /* NULL-terminated, in the caller's storage */
        const char *cwd, *path;    /* path: value of PATH in envp, or a default */
        int stdio[3];              /* descriptors for 0, 1, 2 */
        int group;                 /* an open cgroup.procs to join, -1 if none */
};

/* Takes a message apart into `ret`; strings stay in `body`, pointers go to `pointers` (room entries). 0 or -EPROTO / -E2BIG. */
int command_read(const struct wire_message *m, char *body, char **pointers, size_t room, struct command *ret);

/* -- two ways to start it, each in a session of its own; only in a process that no payload can trace ------------------- */

/*
 * Both wait for nobody, and give the pid, or -errno. `ret_report`, which does not block and is the caller's, says what comes of it: its end, when the
 * program was executed or the child has gone before; or first, by command_fork() alone, a struct command_attempt, when it could not be executed.
 */
struct command_attempt {
        volatile int sys;          /* why not, 0: nothing is wrong so far */
        volatile uint32_t stage;   /* enum wire_exec_stage */
};

pid_t command_fork(const struct command *c, int *ret_report);

/*
 * The quicker one: the child shares our memory until it executes, so that no page is copied. Until the report ends, `c` and its strings stay as they are,
 * and no other child is shared with; then `ret` says what it came to. -ENOTSUP where that cannot be done.
 */
pid_t command_share(const struct command *c, struct command_attempt *ret, int *ret_report);

/*
 * As the second, and waits for it, and wakes it when it was stopped before it had executed. The pid, or a negative errno with the stage that failed. In a
 * process that has no other child, and in which SIGCHLD is blocked.
 */
pid_t command_start(const struct command *c, enum wire_exec_stage *ret_stage);

/*
 * Standard signals, umask, niceness and personality, for this process and by that for each of its children: done once, because
 * sixty calls in every child are a tenth of a short command. Nothing in a guest changes them again.
 */
void command_freshen(void);

/* -- what a child does to itself, in this order; for children that execute nothing too ----------------------------- */

enum { COMMAND_KEPT = 3 };                 /* the one descriptor beside 0, 1, 2 that may stay open */

/* Group and session, then the next. 0 or -errno. */
int command_prepare(const struct command *c, int keep);

/* Standard streams, terminal, limits, descriptors, signals. `keep` stays open as COMMAND_KEPT, -1: nothing does. 0 or -errno. */
int command_dress(const struct command *c, int keep);

/* Goes to the working directory, which must be a place inside. 0 or -errno. */
int command_enter(const char *cwd);

/* Becomes the program, found as execvp(3) does in c->path. Comes back only as -errno. */
int command_execute(const struct command *c);

/* Closes every descriptor from this one on. */
void command_close_from(unsigned first);

#endif
