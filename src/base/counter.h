/*
 * base/counter.h - a number in a small file of the kernel, such as a counter of a control group.
 *
 * What touches a descriptor is inline: the objects of this room touch nothing.
 */
#ifndef CARREL_BASE_COUNTER_H
#define CARREL_BASE_COUNTER_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

enum { COUNTER_READ_MAX = 4096 };

/*
 * The number after `key ` at the start of a line, or the number at the start of `text` if `key` is
 * "". UINT64_MAX: the key or a number is missing.
 */
uint64_t counter_find(const char *text, const char *key);

/*
 * counter_find() in the first 4095 bytes of a file, whose position does not matter and is not
 * moved. UINT64_MAX also if `fd` is -1 or the file cannot be read.
 */
static inline uint64_t
counter_read(int fd, const char *key)
{
        char text[COUNTER_READ_MAX];
        ssize_t len = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;

        if (len <= 0)
                return UINT64_MAX;
        text[len] = '\0';
        return counter_find(text, key);
}

/* The same of a file below a directory; `directory` may be -1. */
static inline uint64_t
counter_read_at(int directory, const char *name, const char *key)
{
        int fd = directory >= 0 ? openat(directory, name, O_RDONLY | O_CLOEXEC) : -1;
        uint64_t value = counter_read(fd, key);

        if (fd >= 0)
                (void)close(fd);
        return value;
}

#endif
