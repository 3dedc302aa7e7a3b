/*
 * filter/filter.h - the system calls that a sandboxed program may make, as programs for the kernel.
 *
 * calls.def says what is allowed and why. The arrays are generated from it at build time. Nothing
 * here calls libc, so the guest may use it. The caller installs a filter: no_new_privs first, then
 * seccomp(SECCOMP_SET_MODE_FILTER) as the last call before execve, in the process that becomes the
 * command.
 *
 * A filter answers: allowed, an errno, or the end of the whole process (calls of another
 * architecture, such as i386).
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

#endif
