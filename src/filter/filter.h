/*
 * filter/filter.h - the system calls a sandboxed program may make, as programs for the kernel.
 *
 * What is allowed and why is calls.def. The arrays are made from it while Carrel is built; nothing here calls
 * libc, so the guest may use them. Installing is the caller's: no_new_privs first, then
 * seccomp(SECCOMP_SET_MODE_FILTER) as the last thing before execve, in the process that becomes the command.
 *
 * Answers: allowed, an errno, or (another architecture's calls, such as i386's) the end of the whole process.
 */
#ifndef CARREL_FILTER_FILTER_H
#define CARREL_FILTER_FILTER_H

#include <linux/filter.h>

/* As struct sock_fprog wants it: count steps, each borrowed for ever. */
struct filter_program {
        const struct sock_filter *steps;
        unsigned short count;
};

extern const struct filter_program filter_default;

/* For `unix: off`: the same without sockets of AF_UNIX; connected stream and seqpacket pairs remain. */
extern const struct filter_program filter_nounix;

#endif
