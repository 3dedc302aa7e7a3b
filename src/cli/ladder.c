/*
 * cli/ladder.c - the start of `carrel run`, step by step.
 *
 * Room: cli (joining). Touches: fd, its own credentials and Landlock domain.
 * Theory: root's `carrel run` reads text that another user wrote. An attacker who exploits a parser
 * must not gain root's powers. Before any parsing this process therefore has no capability except
 * reading directories, and all files are read-only for it (P17).
 */
#include "cli/ladder.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/ns/maker.h"
#include "base/scoped.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { CLOEXEC_RANGE = 1 << 2, FD_LAST = 1024, PATH_BENEATH = 1, MAY_EXECUTE = 1 << 0 };

/*
 * Every right that changes a file system, executes a program, or (ABI 3) truncates; reading stays
 * permitted.
 */
enum { DENY_BASE = 0x1ff3 & ~(1 << 2 | 1 << 3), DENY_TRUNCATE = 1 << 14 };

int
ladder_descriptors(struct error *e)
{
        int fd;

        do
                fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        while (fd >= 0 && fd <= 2 && fcntl(fd, F_SETFD, 0) == 0);
        if (fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening /dev/null");
        (void)close(fd);
        if (syscall(SYS_close_range, 3, ~0u, CLOEXEC_RANGE) == 0)
                return 0;
        for (fd = 3; fd < FD_LAST; fd++)
                (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        return 0;
}

static int
drop_privileges(struct error *e)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        /* One capability stays: reading other users' directories; otherwise `sudo carrel run`
         * could not read a user's workspace. */
        struct __user_cap_data_struct look[2] = {
                { 1u << CAP_DAC_READ_SEARCH, 1u << CAP_DAC_READ_SEARCH, 0 }, { 0, 0, 0 }
        };

        /* With no_new_privs an executed program gains none, so the bounding set need not be
         * cleared. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, look) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "dropping privileges");
        return 0;
}

/* The program loader of a dynamic build; NULL in the shipped one, which is static. */
static int
find_loader(struct dl_phdr_info *info, size_t size, void *ret_loader)
{
        const char **loader = ret_loader;

        (void)size;
        for (unsigned i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_INTERP)
                        *loader = (const char *)(uintptr_t)(info->dlpi_addr +
                                                            info->dlpi_phdr[i].p_vaddr);
        return 1; /* the first is the program itself */
}

/*
 * The gate is executed from memory, which Landlock does not check. In a build that is not static
 * the kernel also opens the loader to execute it. That one file is permitted in such a build.
 * Returns 0 or a negative errno value.
 */
static int
permit_loader(int rules)
{
        struct {
                uint64_t access;
                int32_t fd;
        } __attribute__((packed)) beneath = { MAY_EXECUTE, -1 };
        const char *loader = NULL;
        scoped_fd int fd = -1;

        (void)dl_iterate_phdr(find_loader, &loader);
        if (!loader)
                return 0;
        fd = open(loader, O_PATH | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        beneath.fd = fd;
        return syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &beneath, 0) < 0 ? -errno : 0;
}

static int
close_world(struct error *e)
{
        uint64_t handled = DENY_BASE;
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
        scoped_fd int rules = -1;

        if (abi >= 3)
                handled |= DENY_TRUNCATE;
        if (abi > 0)
                rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
        if (rules < 0 || permit_loader(rules) < 0 ||
            syscall(SYS_landlock_restrict_self, rules, 0) < 0) {
                (void)fail_sys(
                        e, ERROR_CAPABILITY_UNAVAILABLE, errno,
                        "closing the world with Landlock before foreign text is read as root");
                error_hint(e, "Run carrel as an ordinary user, or boot a kernel with Landlock "
                              "switched on (lsm=landlock,...).");
                return -1;
        }
        return 0;
}

int
ladder_climb(struct error *e)
{
        if (ladder_descriptors(e) < 0)
                return -1;
        if (geteuid() != 0)
                return 0;
        if (maker_prepare(e) < 0)
                return -1;
        return drop_privileges(e) < 0 ? -1 : close_world(e);
}
