/*
 * programs/programs.h - the programs that `carrel` carries inside itself: one file is all there is
 * to install.
 */
#ifndef CARREL_PROGRAMS_PROGRAMS_H
#define CARREL_PROGRAMS_PROGRAMS_H

#include <sys/types.h>

#include "base/error.h"

enum program {
        PROGRAM_INIT,
        PROGRAM_KEEPER,
        PROGRAM_DOOR,
        PROGRAM_GATE,
        PROGRAM_JUDGE,
        PROGRAM_UNPACK,
        PROGRAM_BRIDGE,
        PROGRAM_MAX
};

/* "carrel-init", ... */
const char *program_name(enum program image);

/* What tells one build of carrel-init from another: its SHA-256 in hexadecimal. */
const char *program_init_id(void);

/*
 * An executable, sealed, close-on-exec descriptor of the program, at 10 or above: it cannot be
 * changed through /proc/PID/exe (A01). Errors: ERROR_BACKEND_FAILED; ERROR_CAPABILITY_UNAVAILABLE
 * for a program that this build was made without.
 */
int program_open(enum program image, int *ret_fd, struct error *e);

/*
 * Starts the program `image_fd` (of program_open()) with `argv`, an environment of `envp`, nothing
 * to read, nowhere to speak, and `socket` as its descriptor 3
 * (-1: none). The other descriptors are whatever is not close-on-exec. 0 or an errno value,
 * positive.
 */
int program_start(int image_fd, int socket, char *const *argv, char *const *envp, pid_t *ret_pid);

/* The same, with a pair of sockets between the two: *ret_socket is ours, its descriptor 3 the
 * other. Errors: of program_open(); ERROR_BACKEND_FAILED. */
int program_start_linked(enum program image, char *const *argv, char *const *envp, int *ret_socket,
                         pid_t *ret_pid, struct error *e);

#endif
