/*
 * guest/files.c - file operations inside the box: the table, and the short operations.
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

#include "base/write_all.h"
#include "guest/files_parts.h"
#include "guest/path_walk.h"

enum { MODE_MASK = 0777 };

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
        sys = -write_all(io->out, &entry, sizeof entry);
        if (sys == 0)
                sys = -write_all(io->out, argv[1], entry.path_len);
        return sys != 0 ? sys : -write_all(io->out, target, entry.target_len);
}

static int
files_mkdir(char *const *argv, struct files_io *io)
{
        uint64_t mode, parents;
        struct path_walk w;
        struct stat st;
        int sys;

        if (files_number(argv[2], FILES_MODE_ALL, &mode) != 0 ||
            files_number(argv[3], 1, &parents) != 0)
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

#define ANY_WORDS SIZE_MAX

struct operation {
        const char *name;
        size_t words; /* after the name */
        int (*run)(char *const *argv, struct files_io *io);
};

static const struct operation operations[] = {
        { "read", 3, files_read }, { "write", ANY_WORDS, files_write }, { "list", 3, files_list },
        { "page", 4, files_page }, { "stat", 1, files_stat },           { "mkdir", 3, files_mkdir },
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
        if (words != o->words && o->words != ANY_WORDS)
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
                (void)write_all(STDERR_FILENO, io.failed, strlen(io.failed));
        return sys;
}
