/*
 * maker/memory.c - the memory of a virtual machine that is saved, or wakes.
 *
 * Room: maker (program). Touches: files.
 * Theory: QEMU uses a file as the machine's memory, and leaves it out of what it saves
 * (x-ignore-shared). Of most pages nothing is copied then, and they take no memory: QEMU would read
 * each of them while it restores, and a file gets a page for that. Source: QEMU 7.2,
 * migration/ram.c.
 */
#include "maker/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/saved.h"

enum { PART = 16384, PARTS = 64 };

int
memory_open(int dir, uint64_t size)
{
        int fd = openat(dir, MEMORY_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

        if (fd < 0)
                return -errno;
        if (fchmod(fd, 0666) == 0 && ftruncate(fd, (off_t)size) == 0)
                return fd;
        (void)close(fd);
        return -ENOSPC;
}

/* -- to the file ------------------------------------------------------------------------------- */

static bool
is_zero(const unsigned char *part, size_t len)
{
        return part[0] == 0 && memcmp(part, part + 1, len - 1) == 0;
}

static int
put(int file, uint64_t *at, const void *bytes, size_t len)
{
        if (pwrite(file, bytes, len, (off_t)*at) != (ssize_t)len)
                return errno != 0 ? -errno : -ENOSPC;
        *at += len;
        return 0;
}

static int
put_part(int file, uint64_t *at, uint64_t from, const unsigned char *bytes, size_t len)
{
        const struct saved_part part = { from, len };
        int result = put(file, at, &part, sizeof part);

        return result < 0 ? result : put(file, at, bytes, len);
}

/* Neighbours are one part. */
static int
put_parts(int file, uint64_t *at, uint64_t from, const unsigned char *bytes, size_t len)
{
        size_t begin = 0, end;
        int result = 0;

        while (begin < len && result == 0) {
                size_t one = len - begin < PART ? len - begin : PART;

                if (is_zero(bytes + begin, one)) {
                        begin += one;
                        continue;
                }
                for (end = begin + one; end < len; end += one) {
                        one = len - end < PART ? len - end : PART;
                        if (is_zero(bytes + end, one))
                                break;
                }
                result = put_part(file, at, from + begin, bytes + begin, end - begin);
                begin = end;
        }
        return result;
}

int
memory_save(int memory, int file, uint64_t at, uint64_t *ret_end)
{
        static unsigned char bytes[PART * PARTS];
        off_t from = 0;
        ssize_t got = 0;
        int result = 0;

        while (result == 0 && (from = lseek(memory, from, SEEK_DATA)) >= 0 &&
               (got = pread(memory, bytes, sizeof bytes, from)) > 0) {
                result = put_parts(file, &at, (uint64_t)from, bytes, (size_t)got);
                from += got;
        }
        *ret_end = at;
        if (result < 0 || got < 0)
                return result < 0 ? result : -errno;
        return from < 0 && errno != ENXIO ? -errno : 0; /* after the last there is no data */
}

/* -- from the file ----------------------------------------------------------------------------- */

static int
copy(int file, off_t *at, int memory, const struct saved_part *part)
{
        uint64_t left = part->len;

        if (lseek(memory, (off_t)part->at, SEEK_SET) < 0)
                return -errno;
        while (left > 0) {
                ssize_t copied = sendfile(memory, file, at, left);

                if (copied < 0)
                        return -errno;
                if (copied == 0)
                        return -EBADMSG;
                left -= (uint64_t)copied;
        }
        return 0;
}

int
memory_restore(int file, int memory)
{
        struct saved_head head;
        struct saved_part part;
        struct stat whole, size;
        int result = 0;
        off_t at;

        if (fstat(file, &whole) < 0 || fstat(memory, &size) < 0)
                return -errno;
        if (pread(file, &head, sizeof head, 0) != sizeof head || head.memory < SAVED_AT ||
            head.memory > (uint64_t)whole.st_size)
                return -EBADMSG;
        at = (off_t)head.memory;
        while (at < whole.st_size && result == 0) {
                if (pread(file, &part, sizeof part, at) != sizeof part || part.len == 0 ||
                    part.at > (uint64_t)size.st_size || part.len > (uint64_t)size.st_size - part.at)
                        return -EBADMSG;
                at += (off_t)sizeof part;
                result = copy(file, &at, memory, &part);
        }
        return result;
}
