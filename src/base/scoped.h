/*
 * base/scoped.h - handles that close themselves on every way out.
 *
 * `scoped_fd int fd = -1;` closes at the end of its block; fd_take() moves the descriptor out.
 */
#ifndef CARREL_BASE_SCOPED_H
#define CARREL_BASE_SCOPED_H

#include <unistd.h>

static inline void
scoped_fd_close(int *fd)
{
        if (*fd >= 0)
                (void)close(*fd);
        *fd = -1;
}

/* Hands the descriptor to the caller's caller and forgets it here. */
static inline int
fd_take(int *fd)
{
        int taken = *fd;

        *fd = -1;
        return taken;
}

#define scoped_fd __attribute__((cleanup(scoped_fd_close)))

#endif
