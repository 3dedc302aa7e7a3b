/*
 * host/attempt.c - what every attempt needs: reporting the result, and reading and writing a kernel
 * file.
 *
 * Room: host (acting). Touches: the files an attempt names.
 */
#include "host/attempt.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"

__attribute__((format(printf, 3, 0))) static void
detail_write(struct attempt *a, int sys, const char *fmt, va_list ap)
{
        size_t used;

        (void)vsnprintf(a->detail, sizeof a->detail, fmt, ap);
        used = strlen(a->detail);
        if (sys != 0)
                (void)snprintf(a->detail + used, sizeof a->detail - used, ": %s", strerror(sys));
}

enum attempt_result
attempt_fails(struct attempt *a, int sys, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        detail_write(a, sys, fmt, ap);
        va_end(ap);
        return ATTEMPT_FAILS;
}

enum attempt_result
attempt_works(struct attempt *a, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        detail_write(a, 0, fmt, ap);
        va_end(ap);
        return ATTEMPT_WORKS;
}

enum attempt_result
attempt_idle(struct attempt *a, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        detail_write(a, 0, fmt, ap);
        va_end(ap);
        return ATTEMPT_IDLE;
}

int
attempt_write(const char *path, const char *text)
{
        scoped_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
        size_t len = strlen(text);

        if (fd < 0)
                return -1;
        return write(fd, text, len) == (ssize_t)len ? 0 : -1;
}

int
attempt_read(const char *path, char *buf, size_t room)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, buf, room - 1);

        buf[got > 0 ? got : 0] = '\0';
        return (int)got;
}
