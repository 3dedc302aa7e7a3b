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

/*
 * Starts it in a session of its own. The pid, or a negative errno with the stage that failed. Only in a process that no payload can
 * trace: the child shares its memory until it executes.
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
