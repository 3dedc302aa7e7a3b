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
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/maker.h"
#include "seal/landlock.h"
#include "seal/seal.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
enum { CLOEXEC_RANGE = 1 << 2, FD_LAST = 1024 };

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
 * the kernel also opens the loader to execute it. That one file is permitted in such a build. One
 * capability stays: reading other users' directories; otherwise `sudo carrel run` could not read a
 * user's workspace.
 */
static int
close_world(struct error *e)
{
        struct seal_place place = { LANDLOCK_EXECUTE, -1 };
        const char *loader = NULL;
        scoped_fd int fd = -1;

        (void)dl_iterate_phdr(find_loader, &loader);
        if (loader)
                fd = open(loader, O_PATH | O_CLOEXEC);
        if (loader && fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening %s", loader);
        place.fd = fd;
        return seal_enter(SEAL_RUN, &place, 1, e);
}

int
ladder_climb(struct error *e)
{
        if (ladder_descriptors(e) < 0)
                return -1;
        if (geteuid() != 0)
                return 0; /* its maker starts once the plan is permitted (A36-169) */
        if (maker_prepare(e) < 0)
                return -1;
        return close_world(e);
}
