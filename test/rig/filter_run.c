/*
 * test/rig/filter_run.c - runs a command under a filter and nothing else.
 *
 *   filter-run [--nounix] COMMAND [ARGUMENT...]
 *
 * Room: none, a tool of the tests. Touches: prctl, exec.
 * Theory: shows which system calls a program needs, without the effects of namespaces and mounts.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "filter/filter.h"

int
main(int argc, char **argv)
{
        const struct filter_program *f = &filter_default;
        struct sock_fprog program;
        int first = 1;

        if (argc > 1 && strcmp(argv[1], "--nounix") == 0) {
                f = &filter_nounix;
                first = 2;
        }
        if (first >= argc) {
                (void)fputs("usage: filter-run [--nounix] COMMAND [ARGUMENT...]\n", stderr);
                return 125;
        }
        program = (struct sock_fprog){ .len = f->count,
                                       .filter = (struct sock_filter *)(uintptr_t)f->steps };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
                perror("filter-run: the kernel does not take the filter");
                return 125;
        }
        (void)execvp(argv[first], argv + first);
        perror(argv[first]);
        return 127;
}
