/*
 * programs/start.c - starting a program that is carried.
 *
 * Room: programs (words). Touches: processes, fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/scoped.h"
#include "programs/programs.h"

int
program_start(int image_fd, int socket, char *const *argv, char *const *envp, pid_t *ret_pid)
{
        posix_spawn_file_actions_t actions;
        char path[32];
        int result;

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", image_fd);
        if (posix_spawn_file_actions_init(&actions) != 0)
                return ENOMEM;
        /* Read-only: as root a caller that has closed its world can open nothing for writing, and a
         * child has nothing to say there. */
        result = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        for (int fd = 1; fd <= 2 && result == 0; fd++)
                result = posix_spawn_file_actions_adddup2(&actions, 0, fd);
        if (result == 0 && socket >= 0)
                result = posix_spawn_file_actions_adddup2(&actions, socket, 3);
        if (result == 0)
                result = posix_spawn(ret_pid, path, &actions, NULL, argv, envp);
        (void)posix_spawn_file_actions_destroy(&actions);
        return result;
}

int
program_start_linked(enum program image, char *const *argv, char *const *envp, int *ret_socket,
                     pid_t *ret_pid, struct error *e)
{
        scoped_fd int file = -1;
        scoped_fd int ours = -1;
        scoped_fd int theirs = -1;
        int pair[2], result;

        if (program_open(image, &file, e) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a socket for %s",
                                program_name(image));
        ours = pair[0];
        theirs = pair[1];
        result = program_start(file, theirs, argv, envp, ret_pid);
        if (result != 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, result, "starting %s",
                                program_name(image));
        *ret_socket = fd_take(&ours);
        return 0;
}
