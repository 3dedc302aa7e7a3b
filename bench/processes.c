/*
 * bench/processes.c - what two further processes cost before a cold start, in the kernel alone.
 *
 * Room: none (a measuring tool). Touches: processes, one memory file.
 * Theory: `carrel run` keeps privileges in a maker, executed from a sealed memory file, and limits
 * in a box, a fork of it that outlives a stopped terminal. The floor has neither. This does for
 * both what only the kernel does: copies and seals a program of the maker's size, executes it,
 * forks a process that writes as many pages as a box, and waits for each. Then it executes its
 * arguments.
 *
 *     processes PROGRAM BYTES COMMAND [ARGUMENT...]     PROGRAM: a small static program that ends
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20, PAGE = 4096, BOX_PAGES = 40 };

static char bytes[BYTES_MAX], pages[BOX_PAGES * PAGE];

int
main(int argc, char **argv)
{
        size_t len = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
        int from = len > 0 && len <= BYTES_MAX ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
        int file = memfd_create("maker", MFD_ALLOW_SEALING);
        pid_t pid;

        for (size_t i = 0; i < BOX_PAGES; i++)
                pages[i * PAGE] = 1;
        if (from < 0 || read(from, bytes, len) <= 0 || write(file, bytes, len) != (ssize_t)len ||
            fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return 125;
        (void)close(from);
        if (dup2(file, 9) < 0 || close(file) < 0 ||
            posix_spawn(&pid, "/proc/self/fd/9", NULL, NULL, argv + 1, (char *[]){ NULL }) != 0 ||
            waitpid(pid, NULL, 0) != pid || close(9) < 0)
                return 125;
        pid = fork();
        for (size_t i = 0; pid == 0 && i < BOX_PAGES; i++)
                pages[i * PAGE] = 2;
        if (pid == 0)
                _exit(0);
        if (waitpid(pid, NULL, 0) != pid)
                return 125;
        (void)execv(argv[3], argv + 3);
        return 125;
}
