/*
 * programs/programs.c - the programs that `carrel` carries inside itself.
 *
 * Room: programs (words). Touches: one memory file.
 * Theory: the build names the programs (CARREL_INIT_PATH, ...); an analyzer does not, and never
 * links. Pages of a program that is not asked for are never read.
 */
#include "programs/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/write_all.h"
#include "programs/memory_file.h"

enum { PROGRAM_FD_FIRST = 10 };

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* Puts the file at `path` between two names; without a path, nothing stands between them. */
#define PROGRAM_BYTES(name, bytes)                                                \
        __asm__(".section .rodata." #name ", \"a\"\n"                             \
                ".balign 16\n"                                                    \
                ".global " #name "_start\n"                                       \
                ".global " #name "_end\n" #name "_start:\n" bytes #name "_end:\n" \
                ".byte 0\n"                                                       \
                ".previous\n");                                                   \
        extern const unsigned char name##_start[], name##_end[]

#ifdef CARREL_INIT_PATH
PROGRAM_BYTES(carrel_init, ".incbin \"" CARREL_INIT_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_init, "");
#endif
#ifdef CARREL_KEEPER_PATH
PROGRAM_BYTES(carrel_keeper, ".incbin \"" CARREL_KEEPER_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_keeper, "");
#endif
#ifdef CARREL_DOOR_PATH
PROGRAM_BYTES(carrel_door, ".incbin \"" CARREL_DOOR_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_door, "");
#endif
#ifdef CARREL_GATE_PATH
PROGRAM_BYTES(carrel_gate, ".incbin \"" CARREL_GATE_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_gate, "");
#endif
#ifdef CARREL_JUDGE_PATH
PROGRAM_BYTES(carrel_judge, ".incbin \"" CARREL_JUDGE_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_judge, "");
#endif
#ifdef CARREL_UNPACK_PATH
PROGRAM_BYTES(carrel_unpack, ".incbin \"" CARREL_UNPACK_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_unpack, "");
#endif
#ifdef CARREL_BRIDGE_PATH
PROGRAM_BYTES(carrel_bridge, ".incbin \"" CARREL_BRIDGE_PATH "\"\n");
#else
PROGRAM_BYTES(carrel_bridge, "");
#endif

static const struct image_row {
        const char *name;
        const unsigned char *start, *end;
} images[PROGRAM_MAX] = {
        [PROGRAM_INIT] = { "carrel-init", carrel_init_start, carrel_init_end },
        [PROGRAM_KEEPER] = { "carrel-keeper", carrel_keeper_start, carrel_keeper_end },
        [PROGRAM_DOOR] = { "carrel-door", carrel_door_start, carrel_door_end },
        [PROGRAM_GATE] = { "carrel-gate", carrel_gate_start, carrel_gate_end },
        [PROGRAM_JUDGE] = { "carrel-judge", carrel_judge_start, carrel_judge_end },
        [PROGRAM_UNPACK] = { "carrel-unpack", carrel_unpack_start, carrel_unpack_end },
        [PROGRAM_BRIDGE] = { "carrel-bridge", carrel_bridge_start, carrel_bridge_end },
};

const char *
program_name(enum program image)
{
        return images[image].name;
}

#ifndef CARREL_INIT_ID
#define CARREL_INIT_ID x
#endif
#define AS_TEXT(word) AS_TEXT_OF(word)
#define AS_TEXT_OF(word) #word

const char *
program_init_id(void)
{
        static const char word[] = AS_TEXT(CARREL_INIT_ID);

        return word + 1; /* an x before it makes it a word */
}

static int
memory_file(const char *name)
{
        int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

        /* Before 6.3 there is no such flag, and every memory file may be executed. */
        return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

int
program_open(enum program image, int *ret_fd, struct error *e)
{
        const struct image_row *row = &images[image];
        scoped_fd int fd = -1;
        int result;

        if (row->start == row->end)
                return fail(e, ERROR_CAPABILITY_UNAVAILABLE, "this carrel was built without %s",
                            row->name);
        fd = memory_file(row->name);
        if (fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a memory file for %s",
                                row->name);
        result = write_all(fd, row->start, (size_t)(row->end - row->start));
        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "filling the memory file of %s",
                                row->name);
        if (memory_file_seal(fd) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "sealing %s", row->name);
        /* Away from the low numbers: the process that executes it puts its own descriptors there
         * first. */
        *ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FD_FIRST);
        if (*ret_fd >= 0)
                return 0;
        (void)fail_sys(e, ERROR_BACKEND_FAILED, errno, "moving the memory file of %s", row->name);
        if (errno == EINVAL || errno == EMFILE)
                error_hint(e,
                           "Carrel may open too few files here. Raise that limit: ulimit -n 1024");
        return -1;
}
