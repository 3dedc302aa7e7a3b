/*
 * guest/landlock.c - a second restriction of files: Landlock rules.
 *
 * Room: guest (program). Touches: fd, its own Landlock domain.
 * Theory: the rule set handles every right of the running ABI, so each is denied unless a rule
 * grants it. Signals and abstract sockets are scoped to the domain, if the ABI can. All payloads
 * share pid 1's domain, so they can signal each other.
 */
#include "guest/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum {
        FS_EXECUTE = 1 << 0,
        FS_WRITE_FILE = 1 << 1,
        FS_READ_FILE = 1 << 2,
        FS_READ_DIR = 1 << 3,
        FS_REMOVE_DIR = 1 << 4,
        FS_REMOVE_FILE = 1 << 5,
        FS_MAKE_CHAR = 1 << 6,
        FS_MAKE_DIR = 1 << 7,
        FS_MAKE_REG = 1 << 8,
        FS_MAKE_SOCK = 1 << 9,
        FS_MAKE_FIFO = 1 << 10,
        FS_MAKE_BLOCK = 1 << 11,
        FS_MAKE_SYM = 1 << 12,
        FS_REFER = 1 << 13,
        FS_TRUNCATE = 1 << 14,
        FS_IOCTL_DEV = 1 << 15,
};
enum { SCOPE_ABSTRACT = 1 << 0, SCOPE_SIGNAL = 1 << 1, RULE_PATH_BENEATH = 1 };

struct ruleset {
        uint64_t fs, net, scoped;
};
struct path_rule {
        uint64_t access;
        int32_t parent;
} __attribute__((packed));

static uint64_t
handled(unsigned abi)
{
        uint64_t all = FS_REFER - 1;

        all |= abi >= 2 ? FS_REFER : 0;
        all |= abi >= 3 ? FS_TRUNCATE : 0;
        all |= abi >= 5 ? FS_IOCTL_DEV : 0;
        return all;
}

static uint64_t
rights_of(enum step_access access)
{
        static const uint64_t read = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
        static const uint64_t write = FS_WRITE_FILE | FS_TRUNCATE | FS_REMOVE_DIR | FS_REMOVE_FILE |
                                      FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO |
                                      FS_MAKE_SYM | FS_REFER;

        switch (access) {
        case ACCESS_READ:
                return read;
        case ACCESS_WRITE:
                return read | write;
        case ACCESS_DEVICE:
                return FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
        case ACCESS_PROC:
                return FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE;
        }
        return 0;
}

int
landlock_open(unsigned abi)
{
        struct ruleset set = { handled(abi), 0, abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0 };
        size_t len = abi >= 6 ? sizeof set : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
        long fd = syscall(SYS_landlock_create_ruleset, &set, len, 0);

        return fd < 0 ? -errno : (int)fd;
}

int
landlock_allow(int rules, unsigned abi, const char *path, enum step_access access)
{
        static const uint64_t for_files =
                FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
        struct path_rule rule = { rights_of(access) & handled(abi),
                                  open(path, O_PATH | O_CLOEXEC) };
        struct stat st;
        int result = 0;

        if (rule.parent < 0)
                return -errno;
        if (fstat(rule.parent, &st) == 0 && !S_ISDIR(st.st_mode))
                rule.access &= for_files;
        if (syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0) < 0)
                result = -errno;
        (void)close(rule.parent);
        return result;
}

int
landlock_enter(int rules)
{
        return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}
