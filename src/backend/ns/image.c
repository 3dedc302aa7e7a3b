/*
 * backend/ns/image.c - carrel-init, carried inside `carrel` itself.
 *
 * Room: backend/ns (acting). Touches: one memory file.
 */
#include "backend/ns/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scoped.h"

enum { IMAGE_FD_FIRST = 10 };

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#ifdef CARREL_INIT_PATH                /* the build names the program; an analyzer does not, and never links */
__asm__(".section .rodata.carrel_init, \"a\"\n"
        ".balign 16\n"
        ".global carrel_init_start\n"
        ".global carrel_init_end\n"
        "carrel_init_start:\n"
        ".incbin \"" CARREL_INIT_PATH "\"\n"
        "carrel_init_end:\n"
        ".byte 0\n"
        ".previous\n");
#endif

extern const unsigned char carrel_init_start[], carrel_init_end[];

static int
memory_file(void)
{
        int fd = memfd_create("carrel-init", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

        /* Before 6.3 there is no such flag, and every memory file may be executed. */
        return fd < 0 && errno == EINVAL ? memfd_create("carrel-init", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

int
image_open(int *ret_fd, struct error *e)
{
        scoped_fd int fd = memory_file();
        const unsigned char *at = carrel_init_start;

        if (fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a memory file for carrel-init");
        while (at < carrel_init_end) {
                ssize_t written = write(fd, at, (size_t)(carrel_init_end - at));

                if (written < 0)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "filling the memory file of carrel-init");
                at += written;
        }
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "sealing carrel-init");
        /* Away from the low numbers: whoever executes it puts its own descriptors there first. */
        *ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, IMAGE_FD_FIRST);
        return *ret_fd < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "moving the memory file of carrel-init") : 0;
}
