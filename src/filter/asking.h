/*
 * filter/asking.h - for the tests of the filters: installs a filter in a child, and makes a call
 * there.
 *
 * Every case runs in its own child. The arguments are chosen so that a call that passes the filter
 * gives another answer than the filter does, also as root, and changes nothing.
 */
#ifndef CARREL_FILTER_ASKING_H
#define CARREL_FILTER_ASKING_H

#include "base/unit.h"
#include "filter/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGH (1ull << 32)
#define HIGHS (0xffffffffull << 32)
#define NOWHERE ((uintptr_t) "/nonexistent/x")
#define BAD (-1ull)

/* base/unit.h returns the name fail() to base; this also takes fail_msg(). */
#define REFUSE(...)                       \
        do {                              \
                print_error(__VA_ARGS__); \
                print_error("\n");        \
                assert_true(false);       \
        } while (0)

/* The kernel may answer as well: 0, or any error except the two of the filter. */
enum { LET_THROUGH = -1 };

enum { FAILED_TO_INSTALL = 200, DIED = 1 << 16 };

static inline int
install(const struct filter_program *f)
{
        struct sock_fprog program = { .len = f->count,
                                      .filter = (struct sock_filter *)(uintptr_t)f->steps };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* What `body` returned (0..255) in a child under the filter, or DIED + signal. */
static inline int
under(const struct filter_program *f, int (*body)(void *), void *data)
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                alarm(60);
                _exit(install(f) < 0 ? FAILED_TO_INSTALL : body(data));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFSIGNALED(status) ? DIED + WTERMSIG(status) : WEXITSTATUS(status);
}

struct ask {
        const char *name;
        long number;
        uint64_t args[6];
        int expected; /* errno, 0, or LET_THROUGH */
};

static inline int
ask(void *data)
{
        const struct ask *a = data;
        long result = syscall(a->number, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4],
                              a->args[5]);

        return result < 0 ? errno : 0;
}

static inline void
asks_all(const struct filter_program *f, const struct ask *asks, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct ask a = asks[i];
                int got = under(f, ask, &a);
                bool is_right = a.expected == LET_THROUGH
                                        ? got != EPERM && got != ENOSYS && got < FAILED_TO_INSTALL
                                        : got == a.expected;

                if (!is_right)
                        REFUSE("%s(%#llx, %#llx, %#llx, %#llx): answered %d (%s), not %d", a.name,
                               (unsigned long long)a.args[0], (unsigned long long)a.args[1],
                               (unsigned long long)a.args[2], (unsigned long long)a.args[3], got,
                               got < DIED ? strerror(got) : "died", a.expected);
        }
}

#define ASK(call, expected, ...)                             \
        {                                                    \
#call, SYS_##call, { __VA_ARGS__ }, expected \
        }
#define ASK_NUMBER(number, name, expected, ...)         \
        {                                               \
                name, number, { __VA_ARGS__ }, expected \
        }
#define ASKS(f, asks) asks_all(f, asks, sizeof(asks) / sizeof((asks)[0]))

#endif
