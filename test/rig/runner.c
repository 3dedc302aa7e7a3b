/*
 * test/rig/runner.c - processes that change their pid all the time.
 *
 *   runner FILE COUNT
 *
 * Starts COUNT processes. Each forks and exits. Its child starts a new session, counts in FILE and
 * does the same. A program that reads a list of processes and then sends signals reaches only ended
 * ones.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
        int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
        long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
        _Atomic uint64_t *generations;

        if (fd < 0 || ftruncate(fd, sizeof *generations) < 0)
                return 2;
        generations = mmap(NULL, sizeof *generations, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (generations == MAP_FAILED)
                return 2;
        for (long i = 0; i < count; i++) {
                if (fork() != 0)
                        continue;
                for (;;) {
                        pid_t child = fork();

                        if (child > 0)
                                _exit(0);
                        if (child == 0) {
                                (void)setsid();
                                (*generations)++;
                        }
                }
        }
        return 0;
}
