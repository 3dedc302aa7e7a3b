/*
 * guest/write.c - writes a batch of files, each replaced as a whole.
 *
 * Room: guest (program). Touches: names of the box, fd.
 *
 *     every file: resolve the name, create directories, write to an unnamed file, sync
 *       --> every file: put it in place --> sync directories
 *       any failure, or an early end of input: remove temporary files; nothing was changed
 *
 * Theory: a reader of a place sees the old file or the new one. A link at the end of a name is
 * followed first, so the link stays and its target is replaced, as when the payload writes through
 * it. Only a regular file is replaced. Incoming bytes are in an unnamed file (O_TMPFILE), so
 * nothing is left if this process is killed. If the file system does not support that, they are in
 * a file beside their place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/write_all.h"
#include "guest/files_parts.h"
#include "guest/path_walk.h"

enum {
        PIECE = 64 * 1024,
        NEW_MODE = 0644,
        MODE_MASK = 0777,
        TRIES = 8,
        UNNAMED_MAX = 64 /* held open; further ones get a name beside their place once complete */
};

/* One file that is not in its place yet. */
struct put {
        int dir;                   /* index into dirs */
        int fd;                    /* unnamed; -1: it has a name */
        char temp[FILES_TEMP_LEN]; /* beside its place; "" without such a name, and after it is
                                    * in place */
        char name[PATH_WALK_NAME_MAX + 1];
};

/* Each directory is open once: a batch of many files usually has few directories. */
static struct {
        int fd;
        dev_t device;
        ino_t inode;
} dirs[FILE_BATCH_MAX];
static struct put batch[FILE_BATCH_MAX];
static int dir_count, put_count, unnamed_count, announced_count;
static char failed[FILE_PATH_MAX + 1];

/* -- input ------------------------------------------------------------------------------------- */

/* Reads exactly `len` bytes; an earlier end is ECANCELED. */
static int
take(int fd, void *bytes, size_t len)
{
        char *at = bytes;

        while (len > 0) {
                ssize_t got = read(fd, at, len);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return got < 0 ? errno : ECANCELED;
                at += got;
                len -= (size_t)got;
        }
        return 0;
}

static int
take_content(int from, int to, uint64_t len)
{
        static char piece[PIECE];
        int sys = 0;

        while (sys == 0 && len > 0) {
                size_t part = len < sizeof piece ? (size_t)len : sizeof piece;

                sys = take(from, piece, part);
                if (sys == 0)
                        sys = -write_all(to, piece, part);
                len -= part;
        }
        return sys;
}

/* -- one file ---------------------------------------------------------------------------------- */

/* Takes the way's directory: keeps it, or reuses the one already kept. */
static int
keep_directory(struct path_walk *w, int *ret)
{
        struct stat st;

        if (fstat(w->dir, &st) < 0)
                return errno;
        for (int i = dir_count - 1; i >= 0; i--)
                if (dirs[i].device == st.st_dev && dirs[i].inode == st.st_ino) {
                        *ret = i;
                        return 0;
                }
        dirs[dir_count].fd = w->dir;
        dirs[dir_count].device = st.st_dev;
        dirs[dir_count].inode = st.st_ino;
        *ret = dir_count++;
        w->dir = -1;
        return 0;
}

/* The existing file decides whether it may be replaced, and the mode if none was requested. */
static int
judge_place(const struct path_walk *w, const struct file_put *head, mode_t *ret_mode)
{
        struct stat st;

        *ret_mode =
                (head->flags & FILE_PUT_MODE) != 0 ? (mode_t)(head->mode & MODE_MASK) : NEW_MODE;
        if (files_is_dots(w->name))
                return EISDIR;
        if (fstatat(w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno != ENOENT ? errno : w->wants_directory ? EISDIR : 0;
        if (!S_ISREG(st.st_mode))
                return S_ISDIR(st.st_mode) ? EISDIR : S_ISLNK(st.st_mode) ? ELOOP : ENXIO;
        if (w->wants_directory)
                return ENOTDIR;
        if (faccessat(w->dir, w->name, W_OK, 0) < 0)
                return errno;
        if ((head->flags & FILE_PUT_MODE) == 0)
                *ret_mode = st.st_mode & MODE_MASK;
        return 0;
}

/* The path by which an unnamed file can be linked. */
static void
path_walk_of_fd(int fd, char ret[32])
{
        (void)snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

/* Opens an unnamed file; -1: not supported here. */
static int
open_unnamed(const struct put *p)
{
        int fd = openat(dirs[p->dir].fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
        char way[32];

        if (fd < 0)
                return -1;
        path_walk_of_fd(fd, way);
        if (access(way, F_OK) == 0)
                return fd;
        (void)close(fd);
        return -1;
}

/* Creates a file beside the place, or links an unnamed file there. */
static int
name_beside(struct put *p, int *fd)
{
        char way[32] = "";

        if (*fd >= 0)
                path_walk_of_fd(*fd, way);
        for (int i = 0; i < TRIES; i++) {
                int sys = files_temp_name(p->temp);

                if (sys != 0) {
                        p->temp[0] = '\0';
                        return sys;
                }
                if (way[0] == '\0')
                        *fd = openat(dirs[p->dir].fd, p->temp,
                                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY |
                                             O_CLOEXEC,
                                     0600);
                if (way[0] == '\0' ? *fd >= 0
                                   : linkat(AT_FDCWD, way, dirs[p->dir].fd, p->temp,
                                            AT_SYMLINK_FOLLOW) == 0)
                        return 0;
                if (errno != EEXIST)
                        break;
        }
        p->temp[0] = '\0';
        return errno;
}

static int
write_aside(int in, const struct file_put *head, struct put *p, mode_t mode)
{
        int fd = open_unnamed(p), is_unnamed = fd >= 0, sys = is_unnamed ? 0 : name_beside(p, &fd);

        if (sys != 0)
                return sys;
        sys = take_content(in, fd, head->len);
        if (sys == 0 && fchmod(fd, mode) < 0)
                sys = errno;
        if (sys == 0 && fsync(fd) < 0)
                sys = errno;
        if (sys == 0 && is_unnamed && unnamed_count < UNNAMED_MAX) {
                unnamed_count++;
                p->fd = fd;
                return 0;
        }
        if (sys == 0 && is_unnamed)
                sys = name_beside(p, &fd);
        if (close(fd) < 0 && sys == 0)
                sys = errno;
        return sys;
}

static int
put_one(int in, const struct file_put *head)
{
        struct put *p = &batch[put_count];
        struct path_walk w;
        mode_t mode;
        int sys = path_walk_open(failed, PATH_WALK_FOLLOW | PATH_WALK_MAKE, &w);

        if (sys != 0)
                return sys;
        p->temp[0] = '\0';
        p->fd = -1;
        sys = judge_place(&w, head, &mode);
        if (sys == 0) {
                memcpy(p->name, w.name, sizeof p->name);
                sys = keep_directory(&w, &p->dir);
        }
        path_walk_fini(&w);
        if (sys != 0)
                return sys;
        put_count++;
        return write_aside(in, head, p, mode);
}

/* -- the batch --------------------------------------------------------------------------------- */

/*
 * Was this file announced, at this place of the list? `announced`: "12 /workspace/a" for each;
 * empty: any file is written.
 */
static bool
is_announced(char *const *announced, const struct file_put *head)
{
        char *end;

        if (put_count >= announced_count)
                return false;
        return strtoull(announced[put_count], &end, 10) == head->len && *end == ' ' &&
               strcmp(end + 1, failed) == 0;
}

/* 1: read a file; 0: that was the last; or a negative errno value. */
static int
take_one(int in, char *const *announced)
{
        struct file_put head;
        int sys = take(in, &head, sizeof head);

        if (sys != 0)
                return -sys;
        if ((head.flags & ~(uint32_t)FILE_PUT_MODE) != 0 || head.pad != 0)
                return -EINVAL; /* an unknown flag */
        if (head.path_len == 0)
                return put_count < announced_count ? -EKEYREJECTED : 0;
        if (head.path_len > FILE_PATH_MAX)
                return -ENAMETOOLONG;
        if (put_count == FILE_BATCH_MAX)
                return -E2BIG;
        sys = take(in, failed, head.path_len);
        failed[sys == 0 ? head.path_len : 0] = '\0';
        if (sys == 0 && strlen(failed) != head.path_len)
                sys = EINVAL; /* no name contains a NUL */
        if (sys == 0 && announced_count > 0 && !is_announced(announced, &head))
                sys = EKEYREJECTED;
        if (sys == 0)
                sys = put_one(in, &head);
        return sys != 0 ? -sys : 1;
}

/*
 * A new file gets its name at once. One that replaces another first gets a temporary name beside
 * it.
 */
static int
put_one_in_place(struct put *p)
{
        char way[32];
        int sys;

        if (p->fd >= 0) {
                path_walk_of_fd(p->fd, way);
                if (linkat(AT_FDCWD, way, dirs[p->dir].fd, p->name, AT_SYMLINK_FOLLOW) == 0)
                        return 0;
                sys = errno == EEXIST ? name_beside(p, &p->fd) : errno;
                if (sys != 0)
                        return sys;
        }
        if (renameat(dirs[p->dir].fd, p->temp, dirs[p->dir].fd, p->name) < 0)
                return errno;
        p->temp[0] = '\0';
        return 0;
}

static int
put_in_place(void)
{
        for (int i = 0; i < put_count; i++) {
                struct put *p = &batch[i];
                int sys = put_one_in_place(p);

                if (sys != 0) {
                        memcpy(failed, p->name, sizeof p->name);
                        return sys;
                }
        }
        return 0;
}

/*
 * An O_PATH descriptor cannot be synced, so the directory is opened. One that may not be read is
 * not synced.
 */
static int
sync_directories(void)
{
        for (int i = 0; i < dir_count; i++) {
                int fd = openat(dirs[i].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                int sys = fd >= 0 && fsync(fd) < 0 && errno != EINVAL ? errno : 0;

                if (fd >= 0)
                        (void)close(fd);
                if (sys != 0)
                        return sys;
        }
        return 0;
}

static void
tidy_up(void)
{
        for (int i = 0; i < put_count; i++) {
                if (batch[i].temp[0] != '\0')
                        (void)unlinkat(dirs[batch[i].dir].fd, batch[i].temp, 0);
                if (batch[i].fd >= 0)
                        (void)close(batch[i].fd);
        }
        for (int i = 0; i < dir_count; i++)
                (void)close(dirs[i].fd);
}

int
files_write(char *const *argv, struct files_io *io)
{
        int got, sys;

        dir_count = put_count = unnamed_count = announced_count = 0;
        while (argv[1 + announced_count])
                announced_count++;
        failed[0] = '\0';
        io->failed = failed;
        do
                got = take_one(io->in, argv + 1);
        while (got > 0);
        sys = got < 0 ? -got : put_in_place();
        if (sys == 0)
                sys = sync_directories();
        tidy_up();
        return sys;
}
