/*
 * filter/own_test.c - enters the filters of Carrel's own processes in a child, and tests them call
 * by call.
 */
#include "base/sanitized.h"
#include "base/unit.h"
#include "filter/own.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
        NOBODY = 65534,
        DIED = 1 << 16,
        FAILED_TO_ENTER = 200,
        KEEPER = 1 << FILTER_KEEPER,
        DOOR = 1 << FILTER_DOOR,
        BOX = 1 << FILTER_BOX,
        JUDGE = 1 << FILTER_JUDGE,
        RECORDER = 1 << FILTER_RECORDER,
        UNPACK = 1 << FILTER_UNPACK,
        RELAY = 1 << FILTER_RELAY,
        LOOK = 1 << FILTER_LOOK,
        BRIDGE = 1 << FILTER_BRIDGE,
        DIALS = 1 << FILTER_GATE,
        STAND_IN = 1 << FILTER_STAND_IN,
        GATE = DIALS | STAND_IN,
        LOOPS = KEEPER | DOOR | BOX | GATE,
        ALL = LOOPS | JUDGE | RECORDER | UNPACK | RELAY | LOOK | BRIDGE
};

/* The errno of a call under a filter, 0, or DIED + signal. */
static int
under(enum filter_own who, long number, const uint64_t args[6])
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                long result;

                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_enter(who) < 0)
                        _exit(FAILED_TO_ENTER);
                result = syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
                _exit(result < 0 ? errno : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFSIGNALED(status) ? DIED + WTERMSIG(status) : WEXITSTATUS(status);
}

struct ask {
        const char *name;
        long number;
        uint64_t args[6];
        int allowed; /* for which processes */
        int answer;  /* of the kernel, if allowed */
};

#define BAD UINT64_MAX
#define ASK(call, allowed, answer, ...)                             \
        {                                                           \
#call, SYS_##call, { __VA_ARGS__ }, allowed, answer \
        }

static const struct ask asks[] = {
        ASK(read, ALL, EBADF, BAD),
        ASK(recvmsg, ALL, EBADF, BAD),
        ASK(close, ALL, EBADF, BAD),
        ASK(getpid, LOOPS | RECORDER | UNPACK | LOOK | BRIDGE, 0, 0),
        ASK(epoll_create1, LOOPS | BRIDGE, EINVAL, BAD),
        ASK(openat, KEEPER | BOX | RECORDER | UNPACK | LOOK, EBADF, BAD, (uintptr_t) "x"),
        ASK(unlinkat, KEEPER | BOX | RECORDER | UNPACK, EBADF, BAD, (uintptr_t) "x"),
        ASK(fdatasync, KEEPER | BOX | RECORDER, EBADF, BAD),
        ASK(socket, KEEPER, 0, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
        ASK(socket, DIALS | RELAY, 0, AF_INET, SOCK_STREAM, 0),
        ASK(socket, DIALS, 0, AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0),
        ASK(socket, 0, 0, AF_INET, SOCK_RAW, 0),
        ASK(socket, 0, 0, AF_PACKET, SOCK_RAW, 0),
        ASK(socket, 0, 0, AF_NETLINK, SOCK_RAW, 0),
        ASK(getdents64, KEEPER | BOX | RECORDER | UNPACK | LOOK, EBADF, BAD, 0, 0),
        ASK(readlinkat, KEEPER | BOX | UNPACK | LOOK, EBADF, BAD, (uintptr_t) "x", 0, 1),
        ASK(fchdir, RECORDER, EBADF, BAD),
        ASK(mknodat, UNPACK, EBADF, BAD, (uintptr_t) "x", 0),
        ASK(symlinkat, UNPACK, EBADF, (uintptr_t) "x", BAD, (uintptr_t) "x"),
        ASK(utimensat, RECORDER | UNPACK, EBADF, BAD, 0, 0, 0),
        ASK(connect, KEEPER | DIALS, EBADF, BAD),
        ASK(bind, KEEPER | RELAY, EBADF, BAD),
        ASK(fchown, KEEPER, EBADF, BAD),
        ASK(socketpair, KEEPER | DOOR | BOX | STAND_IN | RELAY, EINVAL, AF_UNIX, 0xff, 0, 0),
        ASK(socketpair, 0, 0, AF_INET, SOCK_STREAM, 0, 0),
        ASK(pipe2, BOX | GATE, EFAULT, 0, 0),
        ASK(ioctl, DOOR | BOX | GATE, EBADF, BAD, FIONREAD),
        ASK(ioctl, BOX, EBADF, BAD, TIOCSWINSZ),
        ASK(ioctl, 0, 0, BAD, TIOCSTI),
        ASK(mmap, ALL, EINVAL, 0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, BAD, 0),
        ASK(mmap, 0, 0, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, BAD, 0),
        ASK(mprotect, ALL, EINVAL, 1, 0, PROT_READ),
        ASK(mprotect, 0, 0, 1, 0, PROT_EXEC),
        ASK(kill, BRIDGE, ESRCH, 0x7ffffff0, 0),
        ASK(tgkill, 0, 0, 0x7ffffff0, 0x7ffffff0, 0),
        ASK(setuid, 0, 0, 0),
        ASK(fchmodat, KEEPER | UNPACK, EBADF, BAD, (uintptr_t) "x", 0),
        ASK(fchownat, 0, 0, BAD, (uintptr_t) "x", 0),
        ASK(prctl, 0, 0, 0, 0),
        ASK(ftruncate, KEEPER | BOX | RECORDER | UNPACK, EBADF, BAD, 0),
        ASK(inotify_init1, 0, 0, 0),
        ASK(memfd_create, 0, 0, BAD, 0),
};

static void
each_makes_its_own_calls_and_no_other(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
                for (int who = 0; who < FILTER_OWN_MAX; who++) {
                        int expected = (asks[i].allowed & 1 << who) != 0 ? asks[i].answer : EPERM;
                        int got = under((enum filter_own)who, asks[i].number, asks[i].args);

                        if (got != expected) {
                                print_error("%s(%llx, %llx) by %d: answered %d, not %d\n",
                                            asks[i].name, (unsigned long long)asks[i].args[0],
                                            (unsigned long long)asks[i].args[1], who, got,
                                            expected);
                                assert_true(false);
                        }
                }
}

static void
what_only_an_intruder_does_ends_it(void **state)
{
        static const long numbers[] = {
                SYS_execve,  SYS_clone,   SYS_clone3, SYS_ptrace, SYS_process_vm_writev,
                SYS_unshare, SYS_setns,   SYS_mount,  SYS_bpf,    SYS_open_by_handle_at,
                SYS_keyctl,  SYS_execveat
        };
        static const uint64_t none[6] = { 0 };

        (void)state;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                for (int who = 0; who < FILTER_OWN_MAX; who++)
                        assert_int_equal(under((enum filter_own)who, numbers[i], none),
                                         DIED + SIGSYS);
}

static void
unknown_numbers_get_enosys(void **state)
{
        static const uint64_t none[6] = { 0 };

        (void)state;
        for (int who = 0; who < FILTER_OWN_MAX; who++) {
                assert_int_equal(under((enum filter_own)who, 500, none), ENOSYS);
                assert_int_equal(under((enum filter_own)who, 1 << 20, none), ENOSYS);
        }
}

static void
needs_no_new_privileges_first(void **state)
{
        int status;
        pid_t pid;

        (void)state;
        if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
                return; /* the parent has set it already */
        pid = fork();
        if (pid == 0 && geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
                _exit(2); /* root does not need no_new_privs */
        if (pid == 0)
                _exit(filter_enter(FILTER_DOOR) == -EACCES ? 0 : 1);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_makes_its_own_calls_and_no_other),
                cmocka_unit_test(what_only_an_intruder_does_ends_it),
                cmocka_unit_test(unknown_numbers_get_enosys),
                cmocka_unit_test(needs_no_new_privileges_first),
        };

#if IS_SANITIZED
        (void)asks;
        (void)tests;
        (void)puts("1..0 # SKIP the sanitizers make calls of their own, so nothing is entered in "
                   "this build");
        return 0;
#else
        return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
