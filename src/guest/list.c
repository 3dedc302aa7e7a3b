/*
 * guest/list.c - what is in a directory, and in those below it to a depth.
 *
 * Room: guest (program). Touches: names of the box, fd.
 * Theory: one directory is open per level, each opened in the one above it without following a link, so a listing never leaves
 * what it began with. Names are bytes; order is the directory's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "guest/files_parts.h"
#include "guest/way.h"

enum { OUT_LEN = 64 * 1024, LIST_LEN = 8 * 1024, RECORD_MAX = sizeof(struct file_entry) + 2 * (FILE_PATH_MAX + 1) };

struct level {
        int fd;
        size_t path_len;               /* of the directory's own path */
        long at, len;                  /* in list */
        _Alignas(8) char list[LIST_LEN];
};

/* Touched as deep as a listing goes. */
static struct level levels[FILE_DEPTH_MAX];
static char out[OUT_LEN];
static size_t out_len;
static char path[FILE_PATH_MAX + 1];   /* of what is listed, relative */

static int
flush(int fd)
{
        int sys = files_put(fd, out, out_len);

        out_len = 0;
        return sys;
}

static int
print(int fd, const struct file_entry *entry, const char *target)
{
        int sys = sizeof out - out_len < RECORD_MAX ? flush(fd) : 0;

        memcpy(out + out_len, entry, sizeof *entry);
        memcpy(out + out_len + sizeof *entry, path, entry->path_len);
        memcpy(out + out_len + sizeof *entry + entry->path_len, target, entry->target_len);
        out_len += sizeof *entry + entry->path_len + entry->target_len;
        return sys;
}

static int
open_level(struct level *l, int dir, const char *name, size_t path_len)
{
        int fd;

        if (path_len + 1 + WAY_NAME_MAX > FILE_PATH_MAX)
                return ENAMETOOLONG;
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return errno;
        if (way_is_proc(fd)) {
                (void)close(fd);
                return EACCES;
        }
        l->fd = fd;
        l->path_len = path_len;
        l->at = l->len = 0;
        return 0;
}

/* The next name of a directory. 1, 0 at its end, -errno. */
static int
next_name(struct level *l, const char **ret)
{
        for (;;) {
                const struct files_dirent *e;

                if (l->at >= l->len) {
                        l->at = 0;
                        l->len = files_dirents(l->fd, l->list, sizeof l->list);
                        if (l->len <= 0)
                                return (int)l->len;
                }
                e = (const void *)(l->list + l->at);
                l->at += e->len;
                *ret = e->name;
                if (!files_is_dots(e->name))
                        return 1;
        }
}

/* Puts the name behind its directory's path, where there is room for any name. */
static size_t
name_path(const struct level *l, const char *name)
{
        size_t at = l->path_len, len = strlen(name);

        if (at > 0)
                path[at++] = '/';
        memcpy(path + at, name, len + 1);
        return at + len;
}

/* One entry; opens the level below it where it is a directory and the depth allows. 1: opened, 0: not, -errno. */
static int
list_one(int fd, const struct level *l, const char *name, struct level *below)
{
        char target[FILE_PATH_MAX];
        size_t path_len = name_path(l, name);
        struct file_entry entry;
        struct stat st;
        ssize_t len;
        int sys, opens;

        if (fstatat(l->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;   /* gone meanwhile */
        entry = files_entry(&st);
        entry.path_len = (uint32_t)path_len;
        if (S_ISLNK(st.st_mode) && (len = readlinkat(l->fd, name, target, sizeof target)) > 0)
                entry.target_len = (uint32_t)len;
        opens = S_ISDIR(st.st_mode) && below;
        if (opens)
                entry.sys = open_level(below, l->fd, name, path_len);
        sys = print(fd, &entry, target);
        if (sys != 0)
                return -sys;
        return opens && entry.sys == 0;
}

static int
list_tree(int fd, uint64_t depth, uint64_t max)
{
        static const struct file_entry more = { .kind = FILE_MORE };
        uint64_t count = 0;
        unsigned level = 0;

        for (;;) {
                const char *name = "";
                int got = next_name(&levels[level], &name);

                if (got < 0)
                        return -got;
                if (got == 0) {
                        (void)close(levels[level].fd);
                        if (level-- == 0)
                                return flush(fd);
                        continue;
                }
                if (count++ == max) {
                        path[0] = '\0';
                        got = print(fd, &more, "");
                        return got != 0 ? got : flush(fd);
                }
                got = list_one(fd, &levels[level], name, level + 1 < depth ? &levels[level + 1] : NULL);
                if (got < 0)
                        return -got;
                level += (unsigned)got;
        }
}

int
files_list(char *const *argv, struct files_io *io)
{
        uint64_t depth, max;
        struct way w;
        int sys;

        if (files_number(argv[2], FILE_DEPTH_MAX, &depth) != 0 || depth == 0 || files_number(argv[3], UINT64_MAX - 1, &max) != 0)
                return EINVAL;
        sys = way_open(argv[1], WAY_FOLLOW, &w);
        if (sys != 0)
                return sys;
        out_len = 0;
        sys = open_level(&levels[0], w.dir, w.name, 0);
        way_fini(&w);
        return sys != 0 ? sys : list_tree(io->out, depth, max);
}
