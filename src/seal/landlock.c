/*
 * seal/landlock.c - rule sets that fit the kernel.
 *
 * Room: seal (words). Touches: its own Landlock domain.
 */
#include "seal/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { ASK_VERSION = 1, PATH_BENEATH = 1 };

struct path_rule {
        uint64_t access;
        int32_t fd;
} __attribute__((packed));

/* What each version handles, newest first, and the bytes that its structure has. */
static const struct {
        unsigned abi;
        struct landlock_rights rights;
        size_t len;
} versions[] = {
        { 6, { (1 << 16) - 1, 3, 3 }, 24 }, { 5, { (1 << 16) - 1, 3, 0 }, 16 },
        { 4, { (1 << 15) - 1, 3, 0 }, 16 }, { 3, { (1 << 15) - 1, 0, 0 }, 8 },
        { 2, { (1 << 14) - 1, 0, 0 }, 8 },  { 1, { (1 << 13) - 1, 0, 0 }, 8 },
};
enum { VERSIONS = sizeof versions / sizeof *versions };

static size_t
version_row(unsigned abi)
{
        size_t i = 0;

        while (i < VERSIONS && abi < versions[i].abi)
                i++;
        return i;
}

unsigned
landlock_version(void)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

        return abi > 0 ? (unsigned)abi : 0;
}

uint64_t
landlock_known(unsigned abi)
{
        size_t row = version_row(abi);

        return row < VERSIONS ? versions[row].rights.fs : 0;
}

int
landlock_create(unsigned abi, const struct landlock_rights *rights)
{
        size_t row = version_row(abi);
        struct landlock_rights handled;
        long fd;

        if (row == VERSIONS)
                return -EOPNOTSUPP;
        handled = (struct landlock_rights){ rights->fs & versions[row].rights.fs,
                                            rights->net & versions[row].rights.net,
                                            rights->scope & versions[row].rights.scope };
        fd = syscall(SYS_landlock_create_ruleset, &handled, versions[row].len, 0);
        return fd < 0 ? -errno : (int)fd;
}

int
landlock_permit(int rules, uint64_t access, int fd)
{
        struct path_rule rule = { access, fd };

        return syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int
landlock_apply(int rules)
{
        return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}
