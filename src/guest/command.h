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
        int master;                /* the terminal's other side, -1 if none */
};

/* Takes a message apart into `ret`; strings stay in `body`, pointers go to `pointers` (room entries). 0 or -EPROTO / -E2BIG. */
int command_read(const struct wire_message *m, char *body, char **pointers, size_t room, struct command *ret);

/* Starts it in a session of its own. The pid, or a negative errno with the stage that failed. */
pid_t command_start(const struct command *c, enum wire_exec_stage *ret_stage);

#endif
