/*
 * maker/child.c - a child that does one thing and exits.
 *
 * Room: maker (program). Touches: processes.
 */
#include "maker/child.h"

#include <errno.h>
#include <sys/wait.h>

int
child_wait(pid_t pid)
{
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}
