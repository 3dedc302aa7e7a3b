/*
 * box/confine.c - reduces the rights of a box process.
 *
 * Room: box (program). Touches: its own credentials and Landlock domain.
 * Theory: it keeps the descriptors that it has, and can open files in two places only. A payload
 * that took over this process through its pipes would get the pipes of one sandbox: its own.
 */
#include "box/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { CAPABILITY_LAST = 63 };
enum {
        FS_WRITE_FILE = 1 << 1,
        FS_READ_FILE = 1 << 2,
        FS_READ_DIR = 1 << 3,
        FS_REMOVE_DIR = 1 << 4,
        FS_REMOVE_FILE = 1 << 5,
        FS_MAKE_DIR = 1 << 7,
        FS_MAKE_REG = 1 << 8,
        FS_REFER = 1 << 13,
        FS_TRUNCATE = 1 << 14,
        FS_IOCTL_DEV = 1 << 15,
};
enum { NET_ALL = 3, SCOPE_ALL = 3, RULE_PATH_BENEATH = 1, ASK_VERSION = 1 };

struct ruleset {
        uint64_t fs, net, scoped;
};
struct path_rule {
        uint64_t access;
        int32_t parent;
} __attribute__((packed));

int
confine_privileges(void)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        /* an ordinary user has none, and dropping fails */
        for (int cap = 0; cap <= CAPABILITY_LAST; cap++)
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL && errno != EPERM)
                        return -errno;
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -errno;
        if (syscall(SYS_capset, &head, none) < 0)
                return -errno;
        return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int
allow(int rules, uint64_t access, int directory)
{
        struct path_rule rule = { access, directory };

        if (directory < 0)
                return 0;
        return syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int
confine_files(int directory, int group)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
        uint64_t handled = (uint64_t)FS_REFER - 1;
        struct ruleset set = { 0, abi >= 4 ? NET_ALL : 0u, abi >= 6 ? SCOPE_ALL : 0u };
        int rules, result;

        if (abi < 1)
                return 0;
        handled |= (abi >= 2 ? FS_REFER : 0u) | (abi >= 3 ? FS_TRUNCATE : 0u) |
                   (abi >= 5 ? FS_IOCTL_DEV : 0u);
        set.fs = handled;
        rules = (int)syscall(SYS_landlock_create_ruleset, &set,
                             abi >= 6   ? sizeof set
                             : abi >= 4 ? 2 * sizeof(uint64_t)
                                        : sizeof(uint64_t),
                             0);
        if (rules < 0)
                return -errno;
        result = allow(rules,
                       (FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_FILE | FS_MAKE_REG |
                        FS_TRUNCATE) &
                               handled,
                       directory);
        if (result == 0)
                result = allow(rules,
                               FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_MAKE_DIR |
                                       FS_REMOVE_DIR,
                               group);
        if (result == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
                result = -errno;
        (void)close(rules);
        return result;
}
