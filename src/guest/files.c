/*
 * guest/files.c - file operations inside the box: the table, shared helpers, and the short
 * operations.
 *
 * Room: guest (program). Touches: names of the box, fd.
 */
#include "guest/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/files_parts.h"
#include "guest/path_walk.h"

enum { MODE_MASK = 0777, MODE_ALL = 07777 };

/* -- shared ------------------------------------------------------------------------------------ */

int
files_number(const char *text, uint64_t max, uint64_t *ret)
{
        char *end;

        errno = 0;
        *ret = strtoull(text, &end, 10);
        return text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || *ret > max ? EINVAL
                                                                                          : 0;
}

uint32_t
files_kind(mode_t mode)
{
        static const struct {
                mode_t type;
                uint32_t kind;
        } kinds[] = {
                { S_IFREG, FILE_REGULAR },   { S_IFDIR, FILE_DIRECTORY }, { S_IFLNK, FILE_LINK },
                { S_IFIFO, FILE_FIFO },      { S_IFSOCK, FILE_SOCKET },   { S_IFBLK, FILE_BLOCK },
                { S_IFCHR, FILE_CHARACTER },
        };

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if ((mode & S_IFMT) == kinds[i].type)
                        return kinds[i].kind;
        return FILE_CHARACTER;
}

int64_t
files_mtime_ns(const struct stat *st)
{
        return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

struct file_entry
files_entry(const struct stat *st)
{
        return (struct file_entry){ .size = (uint64_t)st->st_size,
                                    .mtime_ns = files_mtime_ns(st),
                                    .kind = files_kind(st->st_mode),
                                    .mode = st->st_mode & MODE_ALL };
}

int
files_put(int fd, const void *bytes, size_t len)
{
        const char *at = bytes;

        while (len > 0) {
                ssize_t put = write(fd, at, len);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put <= 0)
                        return put < 0 ? errno : EIO;
                at += put;
                len -= (size_t)put;
        }
        return 0;
}

int
files_temp_name(char name[FILES_TEMP_LEN])
{
        uint64_t chance;

        if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
                return EIO;
        (void)snprintf(name, FILES_TEMP_LEN, ".carrel-%016" PRIx64, chance);
        return 0;
}

long
files_dirents(int dir, void *list, size_t room)
{
        long len = syscall(SYS_getdents64, dir, list, room);

        return len < 0 ? -errno : len;
}

int
files_is_dots(const char *name)
{
        return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* -- short operations -------------------------------------------------------------------------- */

static int
describe(const struct path_walk *w, struct file_entry *ret, char target[FILE_PATH_MAX])
{
        struct stat st;
        ssize_t len = 0;

        if (fstatat(w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno;
        if (w->wants_directory && !S_ISDIR(st.st_mode))
                return ENOTDIR;
        if (S_ISLNK(st.st_mode))
                len = readlinkat(w->dir, w->name, target, FILE_PATH_MAX);
        if (len < 0)
                return errno;
        *ret = files_entry(&st);
        ret->target_len = (uint32_t)len;
        return 0;
}

static int
files_stat(char *const *argv, struct files_io *io)
{
        char target[FILE_PATH_MAX];
        struct file_entry entry = { .size = 0 };
        struct path_walk w;
        int sys = path_walk_open(argv[1], 0, &w);

        if (sys != 0)
                return sys;
        sys = describe(&w, &entry, target);
        path_walk_fini(&w);
        if (sys != 0)
                return sys;
        entry.path_len = (uint32_t)strlen(argv[1]);
        sys = files_put(io->out, &entry, sizeof entry);
        if (sys == 0)
                sys = files_put(io->out, argv[1], entry.path_len);
        return sys != 0 ? sys : files_put(io->out, target, entry.target_len);
}

static int
files_mkdir(char *const *argv, struct files_io *io)
{
        uint64_t mode, parents;
        struct path_walk w;
        struct stat st;
        int sys;

        if (files_number(argv[2], MODE_ALL, &mode) != 0 || files_number(argv[3], 1, &parents) != 0)
                return EINVAL;
        sys = path_walk_open(argv[1], parents ? PATH_WALK_MAKE | PATH_WALK_FOLLOW : 0u, &w);
        if (sys != 0)
                return sys;
        if (mkdirat(w.dir, w.name, (mode_t)mode & MODE_MASK) < 0)
                sys = errno;
        if (sys == EEXIST && parents && fstatat(w.dir, w.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
                sys = 0;
        path_walk_fini(&w);
        return sys;
}

static int
files_move(char *const *argv, struct files_io *io)
{
        struct path_walk from, to;
        int sys = path_walk_open(argv[1], 0, &from);

        if (sys != 0)
                return sys;
        io->failed = argv[2];
        sys = path_walk_open(argv[2], 0, &to);
        if (sys == 0) {
                struct stat st;

                io->failed = argv[1];
                if (fstatat(from.dir, from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        sys = errno;
                else if ((from.wants_directory || to.wants_directory) && !S_ISDIR(st.st_mode))
                        sys = ENOTDIR;
                else if (renameat(from.dir, from.name, to.dir, to.name) < 0) {
                        sys = errno;
                        io->failed = argv[2];
                }
                path_walk_fini(&to);
        }
        path_walk_fini(&from);
        return sys;
}

/* -- the table --------------------------------------------------------------------------------- */

struct operation {
        const char *name;
        size_t words; /* after the name */
        int (*run)(char *const *argv, struct files_io *io);
};

static const struct operation operations[] = {
        { "read", 3, files_read }, { "write", 0, files_write },   { "list", 3, files_list },
        { "page", 4, files_page }, { "stat", 1, files_stat },     { "mkdir", 3, files_mkdir },
        { "move", 2, files_move }, { "remove", 2, files_remove },
};

static const struct operation *
find(const char *name)
{
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
                if (strcmp(operations[i].name, name) == 0)
                        return &operations[i];
        return NULL;
}

int
files_has(const char *name)
{
        return find(name) != NULL;
}

int
files_run(char *const *argv, struct files_io *io)
{
        const struct operation *o = find(argv[0]);
        size_t words = 0;

        io->failed = "";
        if (!o)
                return ENOSYS;
        while (argv[words + 1])
                words++;
        if (words != o->words)
                return EINVAL;
        if (words > 0)
                io->failed = argv[1];
        return o->run(argv, io);
}

int
files_main(char *const *argv)
{
        struct files_io io = { STDIN_FILENO, STDOUT_FILENO, "" };
        int sys;

        (void)umask(0); /* apply modes as written */
        sys = files_run(argv, &io);
        if (sys != 0)
                (void)files_put(STDERR_FILENO, io.failed, strlen(io.failed));
        return sys;
}
