/*
 * host/calls.c - which system calls this kernel supports, tested without side effects.
 *
 * Room: host (acting). Touches: system calls with arguments that are always refused.
 * Knows what each call checks first. Knows nothing of their later use.
 * Theory: the kernel checks sizes and flags first, so a wrong one shows that the call exists and
 * does no harm. If a privilege is checked even earlier (move_mount, fsopen), EPERM counts as
 * present.
 */
#include "host/calls.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers that older C libraries do not define; the same on every architecture except alpha. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

enum { NO_SUCH_FLAGS = 0x40000000, NO_SUCH_UNSHARE = 0x1 };

struct question {
        size_t answer; /* offset of the bool */
        long number;
        long args[5];
        bool asks_privilege_first;
};

static const struct question questions[] = {
        /* answer                                 number             arguments refused by */
        { offsetof(struct host_calls, openat2), SYS_openat2, { -1, 0, 0, 0 }, false }, /* size 0 */
        { offsetof(struct host_calls, clone3), SYS_clone3, { 0, 0 }, false },          /* size 0 */
        { offsetof(struct host_calls, open_tree), SYS_open_tree, { -1, 0, NO_SUCH_FLAGS }, false },
        { offsetof(struct host_calls, move_mount),
          SYS_move_mount,
          { -1, 0, -1, 0, NO_SUCH_FLAGS },
          true },
        { offsetof(struct host_calls, mount_setattr),
          SYS_mount_setattr,
          { -1, 0, NO_SUCH_FLAGS, 0, 0 },
          false },
        { offsetof(struct host_calls, fsopen), SYS_fsopen, { 0, NO_SUCH_FLAGS }, true },
        { offsetof(struct host_calls, pidfd_open), SYS_pidfd_open, { -1, NO_SUCH_FLAGS }, false },
        { offsetof(struct host_calls, close_range),
          SYS_close_range,
          { 1, 0, 0 },
          false }, /* first > last */
        { offsetof(struct host_calls, user_ns),
          SYS_unshare,
          { CLONE_NEWUSER | NO_SUCH_UNSHARE },
          false },
};

static bool
is_answered(const struct question *q)
{
        if (syscall(q->number, q->args[0], q->args[1], q->args[2], q->args[3], q->args[4]) >= 0)
                return true;
        return errno != ENOSYS && (errno != EPERM || q->asks_privilege_first);
}

void
host_calls_read(struct host_calls *ret)
{
        uint32_t action = SECCOMP_RET_KILL_PROCESS;
        long abi;

        *ret = (struct host_calls){ 0 };
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
                *(bool *)(void *)((char *)ret + questions[i].answer) = is_answered(&questions[i]);
        ret->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 &&
                       syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
        abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        ret->landlock_abi = abi > 0 ? (unsigned)abi : 0;
}
