/*
 * filter/shut.c - restrictions that door and gate share.
 *
 * Room: filter (words). Touches: this process.
 */
#include "filter/shut.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What each version of Landlock handles, newest first. */
static const struct {
        int abi, fs_bits, has_net, scope_bits;
        size_t len;
} versions[] = {
        { 6, 16, 1, 2, 24 }, { 5, 16, 1, 0, 16 }, { 4, 15, 1, 0, 16 },
        { 3, 15, 0, 0, 8 },  { 2, 14, 0, 0, 8 },  { 1, 13, 0, 0, 8 },
};

int
shut_capabilities(void)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
                /* only a process with capabilities can do this, and needs to */
                (void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
        return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

int
shut_files(unsigned network)
{
        struct {
                uint64_t fs, net, scoped;
        } all = { 0, 0, 0 };
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* version */);
        size_t i = 0;
        int ruleset, result;

        if (abi < 0)
                return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
        while (i < sizeof versions / sizeof *versions && abi < versions[i].abi)
                i++;
        if (i == sizeof versions / sizeof *versions)
                return 0;
        all.fs = (UINT64_C(1) << versions[i].fs_bits) - 1;
        all.net = versions[i].has_net ? network : 0;
        all.scoped = (UINT64_C(1) << versions[i].scope_bits) - 1;
        ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, versions[i].len, 0);
        if (ruleset < 0)
                return -errno;
        result = syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
        (void)close(ruleset);
        return result;
}
