/*
 * wall/beside.c - the filter for a program that only runs behind a wall.
 *
 * Room: wall (words). Touches: this process's own filters.
 * Theory: everything is allowed except ways around a network namespace. The filter checks the low
 * half of a number or family, and so does the kernel: a family is an int, so high bits of the
 * argument hide nothing.
 */
#include "wall/beside.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef __aarch64__
#define ARCH_OWN AUDIT_ARCH_AARCH64
#else
/* on any other architecture, every call gets ENOSYS */
#define ARCH_OWN AUDIT_ARCH_X86_64
#define ARCH_OTHER AUDIT_ARCH_I386
/* arch/x86/entry/syscalls/syscall_32.tbl */
enum { OTHER_SOCKETCALL = 102, OTHER_SOCKET = 359, OTHER_SOCKETPAIR = 360 };
#endif

enum {
        X32 = 0x40000000,
        CALL_SOCKET = 1,
        CALL_SOCKETPAIR = 8 /* of socketcall(2) */,
        IO_URING_SETUP = 425 /* on every architecture */
};

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define LOAD_LOW_HALF(n)                   \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
                 offsetof(struct seccomp_data, args) + 8 * (n)) /* little-endian */
#define CLEAR(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)(bits))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FAIL(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))

/*
 * One architecture's calls by number: ten steps. Any other number continues after them, still
 * loaded.
 */
#define NUMBERS(socket_number, pair_number)                                                      \
        LOAD(nr), CLEAR(X32), IF(IO_URING_SETUP, 0, 1), FAIL(ENOSYS), IF(socket_number, 1, 0),   \
                IF(pair_number, 0, 4), LOAD_LOW_HALF(0), IF(AF_VSOCK, 0, 1), FAIL(EAFNOSUPPORT), \
                ALLOW

static const struct sock_filter steps[] = {
        LOAD(arch),
        IF(ARCH_OWN, 0, 11),
        NUMBERS(SYS_socket, SYS_socketpair),
        ALLOW,
#ifdef ARCH_OTHER
        IF(ARCH_OTHER, 0, 16),
        NUMBERS(OTHER_SOCKET, OTHER_SOCKETPAIR),
        /* its arguments are in memory, where a filter cannot check them */
        IF(OTHER_SOCKETCALL, 0, 4),
        LOAD_LOW_HALF(0),
        IF(CALL_SOCKET, 1, 0),
        IF(CALL_SOCKETPAIR, 0, 1),
        FAIL(ENOSYS),
        ALLOW,
#endif
        FAIL(ENOSYS),
};

int
wall_shut_beside(void)
{
        const struct sock_fprog program = { sizeof steps / sizeof *steps,
                                            (struct sock_filter *)(uintptr_t)steps };

        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}
