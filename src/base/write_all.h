/*
 * base/write_all.h - writes bytes until all are written.
 */
#ifndef CARREL_BASE_WRITE_ALL_H
#define CARREL_BASE_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/*
 * Writes `len` bytes to a descriptor that blocks, continuing after a part and after a signal. 0, or
 * -errno with errno set (EIO: nothing can be written); a part may be written then.
 */
static inline int
write_all(int fd, const void *bytes, size_t len)
{
        const char *at = bytes;

        while (len > 0) {
                ssize_t put = write(fd, at, len);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put == 0)
                        errno = EIO;
                if (put <= 0)
                        return -errno;
                at += put;
                len -= (size_t)put;
        }
        return 0;
}

#endif
