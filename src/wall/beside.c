/*
 * wall/beside.c - the filter for a program behind the wall alone.
 *
 * Room: wall (words). Touches: this process's own filters.
 * Theory: everything is allowed but what leads around a network namespace. Numbers and families are the low halves of what the kernel looks at as well: a family
 * is an int to it, so that high bits of the argument hide nothing.
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
#define ARCH_OWN AUDIT_ARCH_X86_64     /* on any other, no call is answered but by ENOSYS */
#define ARCH_OTHER AUDIT_ARCH_I386
enum { OTHER_SOCKETCALL = 102, OTHER_SOCKET = 359, OTHER_SOCKETPAIR = 360 };           /* arch/x86/entry/syscalls/syscall_32.tbl */
#endif

enum { X32 = 0x40000000, CALL_SOCKET = 1, CALL_SOCKETPAIR = 8 /* of socketcall(2) */, IO_URING_SETUP = 425 /* on every architecture */ };

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define LOAD_LOW_HALF(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (n))      /* little-endian */
#define CLEAR(bits) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)(bits))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FAIL(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))

/* One architecture's calls by number: ten steps. Any other number goes on behind them, and is what was loaded. */
#define NUMBERS(socket_number, pair_number) \
        LOAD(nr), CLEAR(X32), IF(IO_URING_SETUP, 0, 1), FAIL(ENOSYS), \
        IF(socket_number, 1, 0), IF(pair_number, 0, 4), LOAD_LOW_HALF(0), IF(AF_VSOCK, 0, 1), FAIL(EAFNOSUPPORT), ALLOW

static const struct sock_filter steps[] = {
        LOAD(arch),
        IF(ARCH_OWN, 0, 11),
        NUMBERS(SYS_socket, SYS_socketpair),
        ALLOW,
#ifdef ARCH_OTHER
        IF(ARCH_OTHER, 0, 16),
        NUMBERS(OTHER_SOCKET, OTHER_SOCKETPAIR),
        IF(OTHER_SOCKETCALL, 0, 4), LOAD_LOW_HALF(0), IF(CALL_SOCKET, 1, 0), IF(CALL_SOCKETPAIR, 0, 1), FAIL(ENOSYS),      /* its arguments are out of sight */
        ALLOW,
#endif
        FAIL(ENOSYS),
};

int
wall_shut_beside(void)
{
        const struct sock_fprog program = { sizeof steps / sizeof *steps, (struct sock_filter *)(uintptr_t)steps };

        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}
