/*
 * host/calls.h - which system calls this kernel answers, asked without any effect.
 *
 * Each question is a call whose arguments every kernel that has it refuses (EINVAL, EBADF). ENOSYS or EPERM mean
 * that it is absent or filtered. Nothing is opened, cloned or changed.
 */
#ifndef CARREL_HOST_CALLS_H
#define CARREL_HOST_CALLS_H

#include <stdbool.h>

struct host_calls {
        bool openat2, clone3, open_tree, move_mount, mount_setattr, fsopen, pidfd_open, close_range;
        bool user_ns;             /* unshare(CLONE_NEWUSER) gets as far as its argument check */
        bool seccomp;             /* filters, with SECCOMP_RET_KILL_PROCESS */
        unsigned landlock_abi;    /* 0: none */
};

void host_calls_read(struct host_calls *ret);

#endif
