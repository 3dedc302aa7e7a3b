/*
 * volume/tally.c - counts how much a directory holds on disk.
 *
 * Room: volume (words). Touches: fd, the directory (reading; modes of closed directories).
 * Theory: whoever writes there may nest and move directories at will. The walk holds one
 * descriptor. It goes down by one name, through no link, and up by "..", but only to the directory
 * that it came from, recognised by its inode; otherwise it begins again. So it never leaves the
 * directory, and its memory has a bound.
 */
#include "volume/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "volume/place.h"

enum { ENTRIES_ROOM = 8192, SECTOR_BYTES = 512 };

struct entry {
        uint64_t inode;
        int64_t next;
        unsigned short len;
        unsigned char type;
        char name[];
}; /* of getdents64(2) */

static void
begin_anew(struct tally *t)
{
        if (t->at >= 0)
                (void)close(t->at);
        t->at = -1;
        t->depth = 0;
        t->next = 0;
        t->bytes = 0;
        t->has_gaps = false;
}

void
tally_init(struct tally *t, int top)
{
        *t = (struct tally){ .top = top, .at = -1 };
}

void
tally_fini(struct tally *t)
{
        begin_anew(t);
}

static uint64_t
size_of(const struct stat *st)
{
        uint64_t bytes = (uint64_t)st->st_blocks * SECTOR_BYTES;

        if (bytes < TALLY_FILE_BYTES)
                bytes = TALLY_FILE_BYTES;
        return S_ISDIR(st->st_mode) || st->st_nlink == 0 ? bytes : bytes / st->st_nlink;
}

/* A directory is counted by reading it, by looking up its names, and by going up again. */
static bool
is_open(int fd)
{
        struct stat st;

        return fd >= 0 && fstatat(fd, "..", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int
enter(const struct tally *t, const char *name)
{
        int fd = place_into(t->at, name, O_NONBLOCK);

        if (is_open(fd) || fd == -ENOENT || fd == -ENOTDIR)
                return fd;
        if (fd >= 0)
                (void)close(fd);
        return t->opens_up ? place_open_up(t->at, name, 0500) : -EACCES;
}

/* True: `at` is now the directory `name` in it. A directory that has gone meanwhile is no gap. */
static bool
go_down(struct tally *t, const char *name)
{
        struct stat st;
        int fd = t->depth < TALLY_DEPTH_MAX ? enter(t, name) : -ELOOP;

        t->has_gaps |= fd < 0 && fd != -ENOENT && fd != -ENOTDIR;
        if (fd < 0)
                return false;
        if (fstat(t->at, &st) < 0) {
                (void)close(fd);
                return false;
        }
        t->levels[t->depth].inode = st.st_ino;
        t->levels[t->depth++].next = t->next;
        (void)close(t->at);
        t->at = fd;
        t->next = 0;
        return true;
}

/* False: the directory above is not the one that the walk came from. */
static bool
go_up(struct tally *t)
{
        int fd = place_into(t->at, "..", 0);
        struct stat st;

        if (fd < 0)
                return false;
        (void)close(t->at);
        t->at = fd;
        t->depth--;
        t->next = t->levels[t->depth].next;
        return fstat(fd, &st) == 0 && st.st_ino == t->levels[t->depth].inode;
}

/* Continues in `at`, to its end, the end of the budget, or a directory, which it enters. True: at
 * its end. */
static bool
count_some(struct tally *t, uint64_t *budget)
{
        _Alignas(8) char entries[ENTRIES_ROOM];
        long got = lseek(t->at, t->next, SEEK_SET) < 0
                           ? 0
                           : syscall(SYS_getdents64, t->at, entries, sizeof entries);

        for (long at = 0; at<got && * budget> 0;) {
                const struct entry *d = (const struct entry *)(const void *)(entries + at);
                struct stat st;

                at += d->len;
                t->next = d->next;
                --*budget;
                if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0 ||
                    fstatat(t->at, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                t->bytes += size_of(&st);
                if (S_ISDIR(st.st_mode) && go_down(t, d->name))
                        return false;
        }
        return got <= 0;
}

/* Complete: has_gaps stays until the next walk begins. */
static int
end_walk(struct tally *t, uint64_t *ret_bytes)
{
        bool has_gaps = t->has_gaps;

        *ret_bytes = t->bytes;
        begin_anew(t);
        t->has_gaps = has_gaps;
        t->breaks = 0;
        return 1;
}

int
tally_look(struct tally *t, uint64_t budget, uint64_t *ret_bytes)
{
        if (t->at < 0) {
                t->at = place_into(t->top, ".", 0);
                t->has_gaps = t->at < 0;
        }
        while (t->at >= 0 && budget > 0) {
                if (!count_some(t, &budget))
                        continue;
                if (t->depth == 0)
                        return end_walk(t, ret_bytes);
                if (!go_up(t)) {
                        begin_anew(t);
                        t->breaks++;
                        break;
                }
        }
        *ret_bytes = t->bytes;
        return 0;
}
