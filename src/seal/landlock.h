/*
 * seal/landlock.h - Landlock by raw system calls: rule sets that fit the kernel.
 *
 * Source: landlock(7); Linux 5.13 (ABI 1) to 6.15 (ABI 7).
 */
#ifndef CARREL_SEAL_LANDLOCK_H
#define CARREL_SEAL_LANDLOCK_H

#include <stdint.h>

/* Landlock's own bits. */
enum landlock_fs {
        LANDLOCK_EXECUTE = 1 << 0,
        LANDLOCK_WRITE_FILE = 1 << 1,
        LANDLOCK_READ_FILE = 1 << 2,
        LANDLOCK_READ_DIR = 1 << 3,
        LANDLOCK_REMOVE_DIR = 1 << 4,
        LANDLOCK_REMOVE_FILE = 1 << 5,
        LANDLOCK_MAKE_CHAR = 1 << 6,
        LANDLOCK_MAKE_DIR = 1 << 7,
        LANDLOCK_MAKE_REG = 1 << 8,
        LANDLOCK_MAKE_SOCK = 1 << 9,
        LANDLOCK_MAKE_FIFO = 1 << 10,
        LANDLOCK_MAKE_BLOCK = 1 << 11,
        LANDLOCK_MAKE_SYM = 1 << 12,
        LANDLOCK_REFER = 1 << 13,     /* ABI 2: a file moves to another directory */
        LANDLOCK_TRUNCATE = 1 << 14,  /* ABI 3 */
        LANDLOCK_IOCTL_DEV = 1 << 15, /* ABI 5 */
        LANDLOCK_FS_ALL = (1 << 16) - 1,
};
enum landlock_net { LANDLOCK_BIND = 1 << 0, LANDLOCK_CONNECT = 1 << 1 };      /* ABI 4; TCP */
enum landlock_scope { LANDLOCK_ABSTRACT = 1 << 0, LANDLOCK_SIGNAL = 1 << 1 }; /* ABI 6 */

/* What a rule set handles, that is, denies unless a rule permits it. The kernel's structure. */
struct landlock_rights {
        uint64_t fs, net, scope;
};

/* The version of this kernel's Landlock; 0 without Landlock. */
unsigned landlock_version(void);

/* The file system rights that `abi` knows. */
uint64_t landlock_known(unsigned abi);

/*
 * Creates a rule set that handles those of `rights` that `abi` knows. Returns its descriptor, owned
 * by the caller, or -errno.
 */
int landlock_create(unsigned abi, const struct landlock_rights *rights);

/*
 * Permits `access` (enum landlock_fs, known to the ABI and handled by `rules`) for the file `fd`,
 * or beneath it if it is a directory. 0 or -errno.
 */
int landlock_permit(int rules, uint64_t access, int fd);

/* Applies the rules to the calling process, irrevocably. Needs no_new_privs. 0 or -errno. */
int landlock_apply(int rules);

#endif
