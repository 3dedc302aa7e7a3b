/*
 * host/calls.h - which system calls this kernel supports, tested without side effects.
 *
 * Each test makes a call with arguments that every kernel with that call rejects (EINVAL, EBADF).
 * ENOSYS or EPERM means that the call is absent or filtered. Nothing is opened, cloned or changed.
 */
#ifndef CARREL_HOST_CALLS_H
#define CARREL_HOST_CALLS_H

#include <stdbool.h>

struct host_calls {
        bool openat2, clone3, open_tree, move_mount, mount_setattr, fsopen, pidfd_open, close_range;
        bool user_ns;          /* unshare(CLONE_NEWUSER) reaches its argument check */
        bool seccomp;          /* filters, with SECCOMP_RET_KILL_PROCESS */
        unsigned landlock_abi; /* 0: none */
};

void host_calls_read(struct host_calls *ret);

#endif
