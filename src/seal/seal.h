/*
 * seal/seal.h - removes the rights of a process of Carrel, as its row of seal/seal.def says, before
 * it reads a byte from others.
 *
 * A process calls both functions in this order, or seal_privileges() alone until the places are
 * known that seal_world() permits. Source: capabilities(7), landlock(7), seccomp(2).
 */
#ifndef CARREL_SEAL_SEAL_H
#define CARREL_SEAL_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum seal_process {
#define SEAL(process, capabilities, bounding, files, network, calls, open_files, core, why) \
        SEAL_##process,
#include "seal/seal.def"
#undef SEAL
        SEAL_PROCESSES
};

/* A file system right of a place, and the place: an open directory, or a file. -1: no place. */
struct seal_place {
        uint64_t access; /* enum landlock_fs; what the kernel does not know is left out */
        int fd;          /* borrowed */
};

/*
 * no_new_privs, capabilities, dumping, open files. *ret_step is the step that failed, in the form
 * "dropping capabilities". 0 or -errno.
 */
int seal_privileges(enum seal_process who, const char **ret_step);

/*
 * Landlock, then the filter of system calls. `places`: `count` of them, permitted in addition to
 * the row. *ret_step as above. 0 or -errno (EOPNOTSUPP: no Landlock, and the row needs it).
 */
int seal_world(enum seal_process who, const struct seal_place *places, size_t count,
               const char **ret_step);

/*
 * Both, with an error. Errors: ERROR_CAPABILITY_UNAVAILABLE if the kernel lacks Landlock or
 * filters, ERROR_BACKEND_FAILED. 0 or -1.
 */
int seal_enter(enum seal_process who, const struct seal_place *places, size_t count,
               struct error *e);

#endif
