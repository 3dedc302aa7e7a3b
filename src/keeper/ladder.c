/*
 * keeper/ladder.c - drops the keeper's privileges at its start, step by step.
 *
 * Room: keeper (joining). Touches: its own credentials and Landlock domain.
 * Theory: the keeper checks input from others. It may read what mounts name, because it opens that
 * for the maker. It may change only its own state. It executes nothing, and no other process can
 * read its memory.
 */
#include "keeper/ladder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"
#include "filter/own.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/*
 * Every right that changes a file system or executes a program; reading stays allowed. REFER and
 * TRUNCATE came with later ABI versions.
 */
#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define CHANGING (((UINT64_C(1) << 13) - 1) & ~(uint64_t)READING)
#define TRUNCATING (UINT64_C(1) << 14)

static int
drop_privileges(struct error *e)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct look[2] = {
                { 1u << CAP_DAC_READ_SEARCH, 1u << CAP_DAC_READ_SEARCH, 0 }, { 0, 0, 0 }
        };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "giving up new privileges");
        if (geteuid() == 0 && syscall(SYS_capset, &head, look) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "dropping privileges");
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "closing its memory to others");
        return 0;
}

static int
allow(int rules, const char *path, uint64_t access)
{
        struct landlock_path_beneath_attr beneath = {
                .allowed_access = access & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE, .parent_fd = -1
        };
        scoped_fd int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        beneath.parent_fd = fd;
        return fd < 0 ? -1
                      : (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
                                     &beneath, 0);
}

static int
close_world(const char *state, struct error *e)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        struct landlock_ruleset_attr attr = { .handled_access_fs =
                                                      CHANGING | (abi >= 3 ? TRUNCATING : 0) };
        scoped_fd int rules = -1;

        if (abi > 0)
                rules = (int)syscall(SYS_landlock_create_ruleset, &attr,
                                     sizeof attr.handled_access_fs, 0);
        if (abi <= 0 && geteuid() != 0)
                return 0; /* an ordinary user's daemon may write what the user may write */
        if (rules < 0 || allow(rules, state, attr.handled_access_fs) < 0 ||
            syscall(SYS_landlock_restrict_self, rules, 0) < 0) {
                (void)fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, errno,
                               "closing the world of the keeper with Landlock");
                error_hint(e, "Run the daemon as an ordinary user, or boot a kernel with Landlock "
                              "switched on (lsm=landlock,...).");
                return -1;
        }
        return 0;
}

int
ladder_climb(const char *state, struct error *e)
{
        int result;

        if (drop_privileges(e) < 0 || close_world(state, e) < 0)
                return -1;
        result = filter_enter(FILTER_KEEPER);
        return result < 0 ? fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, -result,
                                     "closing the keeper to calls it never makes")
                          : 0;
}
