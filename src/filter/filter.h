/*
 * filter/filter.h - the system calls that a sandboxed program may make, as programs for the kernel.
 *
 * calls.def says what is allowed and why. The arrays are generated from it at build time. Nothing
 * here calls libc, so the guest may use it. The caller installs a filter: no_new_privs first, then
 * seccomp(SECCOMP_SET_MODE_FILTER) as the last call before execve, in the process that becomes the
 * command.
 *
 * A filter answers: allowed, an errno, or the end of the whole process (calls of another
 * architecture, such as i386), or a question to pid 1.
 */
#ifndef CARREL_FILTER_FILTER_H
#define CARREL_FILTER_FILTER_H

#include <linux/filter.h>

/* As struct sock_fprog needs it: `count` steps, borrowed for the whole run. */
struct filter_program {
        const struct sock_filter *steps;
        unsigned short count;
};

extern const struct filter_program filter_default;

/*
 * For `unix: off`: the same without AF_UNIX sockets; connected stream and seqpacket pairs remain
 * allowed.
 */
extern const struct filter_program filter_nounix;

/*
 * For root of a sandbox's own user namespace. They ask pid 1 about each execve and each mode with
 * set-id bits; filter_one_id, for a namespace with one id, about other owners too. Installed
 * without a listener (SECCOMP_FILTER_FLAG_NEW_LISTENER), such a call is answered ENOSYS.
 */
extern const struct filter_program filter_root, filter_root_nounix;
extern const struct filter_program filter_one_id, filter_one_id_nounix;

#endif
