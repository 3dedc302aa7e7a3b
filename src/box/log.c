/*
 * box/log.c - the newest bytes of one stream.
 *
 * Room: box (program). Touches: mem, one unnamed file of the state directory.
 * Theory: the byte with offset o is at o modulo the ring's size. Only growing moves bytes to new
 * places. The blocks of the file are allocated before it is mapped. So a full disk gives an error
 * there, not a signal at a write.
 */
#include "box/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t filed; /* bytes of mapped files: other sandboxes use the same
                        * disk */

void
log_init(struct log *l, uint64_t keep, int directory)
{
        *l = (struct log){ .keep = keep < LOG_FIRST      ? LOG_FIRST
                                   : keep > SIZE_MAX / 2 ? SIZE_MAX / 2
                                                         : (size_t)keep,
                           .directory = directory };
}

static void
release(unsigned char *bytes, size_t room, unsigned is_mapped)
{
        if (is_mapped) {
                (void)munmap(bytes, room);
                filed -= room;
        } else {
                free(bytes);
        }
}

void
log_fini(struct log *l)
{
        if (l->bytes)
                release(l->bytes, l->room, l->is_mapped);
        l->bytes = NULL;
        l->room = 0;
        l->is_mapped = 0;
        l->first = l->end;
}

/* One contiguous piece of the ring from `offset` on. */
static struct iovec
piece(const struct log *l, uint64_t offset, size_t len)
{
        size_t at = (size_t)(offset % l->room);

        return (struct iovec){ l->bytes + at, len < l->room - at ? len : l->room - at };
}

static int
nameless(int directory)
{
        int fd = openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

        if (fd >= 0)
                return fd;
        fd = openat(directory, ".log", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
                (void)unlinkat(directory, ".log", 0);
        return fd;
}

static unsigned char *
map_file(int directory, size_t room)
{
        int fd = directory >= 0 ? nameless(directory) : -1;
        void *bytes = MAP_FAILED;

        if (fd < 0)
                return NULL;
        if (posix_fallocate(fd, 0, (off_t)room) == 0)
                bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        (void)close(fd);
        return bytes == MAP_FAILED ? NULL : bytes;
}

/* Enlarges the ring; keeps it if there is no memory. */
static void
grow(struct log *l, size_t room)
{
        unsigned is_mapped = room > LOG_HEAP_MAX;
        struct log larger;
        unsigned char *bytes;

        if (is_mapped && (l->directory < 0 || room > LOG_FILES_MAX - filed)) {
                /* also read by code that waits for a reader */
                l->keep = room = LOG_HEAP_MAX;
                is_mapped = 0;
        }
        bytes = room <= l->room ? NULL : is_mapped ? map_file(l->directory, room) : malloc(room);
        if (!bytes)
                return;
        filed += is_mapped ? room : 0;
        larger = (struct log){ .bytes = bytes, .room = room };
        for (uint64_t at = l->first; at < l->end;) {
                struct iovec from = piece(l, at, (size_t)(l->end - at)),
                             to = piece(&larger, at, from.iov_len);

                memcpy(to.iov_base, from.iov_base, to.iov_len);
                at += to.iov_len;
        }
        if (l->bytes)
                release(l->bytes, l->room, l->is_mapped);
        l->bytes = bytes;
        l->room = room;
        l->is_mapped = is_mapped;
}

/* Doubles up to the heap's maximum; the file is created once, at its final size. */
static size_t
next_room(const struct log *l, size_t needed)
{
        size_t room = l->room == 0 ? LOG_FIRST : l->room;

        while (room < needed && room < LOG_HEAP_MAX)
                room *= 2;
        if (room < needed && room >= LOG_HEAP_MAX)
                room = l->keep;
        return room < l->keep ? room : l->keep;
}

int
log_space(struct log *l, size_t want, struct iovec pieces[2])
{
        size_t needed = (size_t)(l->end - l->first) + want;

        if (needed > l->room && l->room < l->keep)
                grow(l, next_room(l, needed));
        if (l->room == 0)
                return 0;
        want = want < l->room ? want : l->room;
        if (l->end + want > l->first + l->room)
                l->first = l->end + want - l->room;
        pieces[0] = piece(l, l->end, want);
        if (pieces[0].iov_len == want)
                return 1;
        pieces[1] = (struct iovec){ l->bytes, want - pieces[0].iov_len };
        return 2;
}

void
log_commit(struct log *l, size_t len)
{
        l->end += len;
        if (l->first > l->end)
                l->first = l->end;
}

size_t
log_free_behind(const struct log *l, uint64_t offset)
{
        uint64_t behind = l->end > offset ? l->end - offset : 0;

        return behind >= l->keep ? 0 : l->keep - (size_t)behind;
}

int
log_peek(const struct log *l, uint64_t offset, size_t most, struct iovec pieces[2],
         uint64_t *ret_offset)
{
        uint64_t at = offset > l->first ? offset : l->first;
        size_t len;

        *ret_offset = at;
        if (at >= l->end || most == 0)
                return 0;
        len = l->end - at < most ? (size_t)(l->end - at) : most;
        pieces[0] = piece(l, at, len);
        if (pieces[0].iov_len == len)
                return 1;
        pieces[1] = (struct iovec){ l->bytes, len - pieces[0].iov_len };
        return 2;
}

void
log_shrink(struct log *l)
{
        size_t len = (size_t)(l->end - l->first);
        unsigned char *bytes;
        struct iovec pieces[2];
        uint64_t at;
        int count;

        if (len == 0) {
                log_fini(l);
                return;
        }
        if (l->is_mapped || len > l->room / 2)
                return;
        bytes = malloc(len);
        if (!bytes)
                return;
        count = log_peek(l, l->first, len, pieces, &at);
        for (int i = 0; i < count; i++) {
                size_t to = (size_t)(at % len),
                       first = pieces[i].iov_len < len - to ? pieces[i].iov_len : len - to;

                memcpy(bytes + to, pieces[i].iov_base, first);
                memcpy(bytes, (unsigned char *)pieces[i].iov_base + first,
                       pieces[i].iov_len - first);
                at += pieces[i].iov_len;
        }
        free(l->bytes);
        l->bytes = bytes;
        l->room = l->keep = len;
}
