/* wall/beside_test.c - wall/beside.h, each case in its own child. */
#include "wall/beside.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

enum { IO_URING_SETUP = 425, X32 = 0x40000000 };

#define MUST(number, claim)            \
        do {                           \
                if (!(claim))          \
                        return number; \
        } while (0)

/* The errno of a call; 0: it worked (and what it opened is closed). */
static int
answer(long result)
{
        if (result < 0)
                return errno;
        (void)close((int)result);
        return 0;
}

#if defined(__x86_64__)
/*
 * An i386 call from an x86-64 program; its arguments are low halves. -ENOSYS also if the kernel
 * does not support i386.
 */
static int
call_i386(uint32_t number, uint32_t a, uint32_t b, uint32_t c)
{
        int result;

        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(number), "b"(a), "c"(b), "d"(c)
                         : "memory", "r8", "r9", "r10", "r11");
        return result;
}

static int
i386_is_shut_too(void)
{
        enum {
                GETPID = 20,
                SOCKET = 359,
                SOCKETPAIR = 360,
                SOCKETCALL = 102,
                SOCKETCALL_SOCKET = 1,
                SOCKETCALL_BIND = 2
        };
        int fd;

        if (call_i386(GETPID, 0, 0, 0) != getpid())
                return 0; /* a kernel without i386 calls */
        MUST(21, call_i386(SOCKET, AF_VSOCK, SOCK_STREAM, 0) == -EAFNOSUPPORT);
        MUST(22, call_i386(SOCKETPAIR, AF_VSOCK, SOCK_STREAM, 0) == -EAFNOSUPPORT);
        MUST(23, call_i386(IO_URING_SETUP, 1, 0, 0) == -ENOSYS);
        MUST(24, call_i386(SOCKETCALL, SOCKETCALL_SOCKET, 0, 0) == -ENOSYS);
        MUST(25, call_i386(SOCKETCALL, SOCKETCALL_BIND, 0, 0) == -EFAULT);
        fd = call_i386(SOCKET, AF_INET, SOCK_STREAM, 0);
        MUST(26, fd >= 0);
        (void)close(fd);
        MUST(27, answer(syscall(SYS_socket | X32, AF_VSOCK, SOCK_STREAM, 0)) != 0);
        return 0;
}
#else
static int
i386_is_shut_too(void)
{
        return 0;
}
#endif

static int
calls(void)
{
        int pair[2];

        MUST(1, answer(socket(AF_VSOCK, SOCK_STREAM, 0)) == EAFNOSUPPORT);
        MUST(2,
             answer(syscall(SYS_socket, AF_VSOCK | (1ull << 32), SOCK_STREAM, 0)) == EAFNOSUPPORT);
        MUST(3, answer(socket(AF_VSOCK, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == EAFNOSUPPORT);
        MUST(4, socketpair(AF_VSOCK, SOCK_STREAM, 0, pair) < 0 && errno == EAFNOSUPPORT);
        MUST(5, answer(syscall(IO_URING_SETUP, 1, NULL)) == ENOSYS);
        MUST(6, answer(socket(AF_INET, SOCK_STREAM, 0)) == 0 &&
                        answer(socket(AF_INET6, SOCK_DGRAM, 0)) == 0 &&
                        answer(socket(AF_UNIX, SOCK_STREAM, 0)) == 0);
        MUST(7, socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        return i386_is_shut_too();
}

static int
shut_without_privileges(void)
{
        MUST(31, setresuid(getuid() == 0 ? 65534 : getuid(), getuid() == 0 ? 65534 : getuid(),
                           getuid() == 0 ? 65534 : getuid()) == 0);
        MUST(32, wall_shut_beside() == -EACCES);
        MUST(33, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && wall_shut_beside() == 0);
        return calls();
}

static int
shut_in_a_user_namespace(void)
{
        if (unshare(CLONE_NEWUSER) < 0)
                return 0; /* this host permits no user namespace */
        MUST(41, wall_shut_beside() == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
        return calls();
}

static void
in_child(int (*inside)(void))
{
        pid_t pid = fork();
        int status;

        if (pid == 0)
                _exit(inside());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("status %x, line %d", (unsigned)status, WEXITSTATUS(status));
}

static void
what_no_namespace_holds_is_shut(void **state)
{
        (void)state;
        in_child(shut_without_privileges);
        in_child(shut_in_a_user_namespace);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(what_no_namespace_holds_is_shut) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
