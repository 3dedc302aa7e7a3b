/*
 * host/programs.c - the programs of PATH, and what file a word is.
 *
 * Room: host (acting). Touches: fd, the directories of PATH.
 * Theory: a name is looked up in the order of PATH, as a shell does, and a path is opened; both end
 * at an inode. Between this and the start of a program the file can change: the sandbox is the
 * wall.
 */
#include "host/programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRAMS_MAX = 65536, DIRECTORY_COUNT = 5, PATH_ROOM = 4096 };

struct host_program {
        dev_t device;
        ino_t inode;
        const char *name;
};

static const char *const directories[DIRECTORY_COUNT] = { "/usr/local/bin", "/usr/bin", "/bin",
                                                          "/usr/sbin", "/sbin" };

static bool
is_program(const struct stat *st)
{
        return S_ISREG(st->st_mode) && (st->st_mode & 0111) != 0;
}

void
host_programs_init(struct host_programs *p, struct arena *arena, int folder)
{
        *p = (struct host_programs){ arena, NULL, 0, folder };
}

/* -- the list ---------------------------------------------------------------------------------- */

static void
add(struct host_programs *p, const char *name, const struct stat *st)
{
        const char *copy = p->count < PROGRAMS_MAX ? arena_text(p->arena, name) : NULL;

        if (copy)
                p->items[p->count++] = (struct host_program){ st->st_dev, st->st_ino, copy };
}

/* A directory that does not exist has no programs. */
static void
add_directory(struct host_programs *p, const char *path)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        struct stat st;

        if (!d) {
                if (fd >= 0)
                        (void)close(fd);
                return;
        }
        for (struct dirent *entry = readdir(d); entry; entry = readdir(d))
                if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0 && is_program(&st))
                        add(p, entry->d_name, &st);
        (void)closedir(d);
}

static void
list(struct host_programs *p)
{
        if (p->items)
                return;
        p->items = arena_array(p->arena, struct host_program, PROGRAMS_MAX);
        for (size_t i = 0; p->items && i < DIRECTORY_COUNT; i++)
                add_directory(p, directories[i]);
}

/* -- one word ---------------------------------------------------------------------------------- */

/* The program that a shell runs for a name is the first in PATH. */
static bool
find_file(const struct host_programs *p, const char *word, struct stat *ret)
{
        char path[PATH_ROOM];

        if (strchr(word, '/'))
                return fstatat(p->folder, word, ret, 0) == 0 && is_program(ret);
        for (size_t i = 0; i < DIRECTORY_COUNT; i++) {
                int len = snprintf(path, sizeof path, "%s/%s", directories[i], word);

                if (len < (int)sizeof path && stat(path, ret) == 0 && is_program(ret))
                        return true;
        }
        return false;
}

const char *
host_programs_find(void *programs, const char *word)
{
        struct host_programs *p = programs;
        const char *slash = strrchr(word, '/'), *found = NULL;
        struct stat st;

        if (!find_file(p, word, &st))
                return NULL;
        if (!slash)
                return word;
        list(p);
        for (size_t i = 0; i < p->count; i++) {
                if (p->items[i].device != st.st_dev || p->items[i].inode != st.st_ino)
                        continue;
                if (strcmp(p->items[i].name, slash + 1) == 0)
                        return p->items[i].name;
                /* the same answer in whatever order the directory was read */
                if (!found || strcmp(p->items[i].name, found) < 0)
                        found = p->items[i].name;
        }
        return found;
}

bool
host_programs_same(void *programs, const char *one, const char *other)
{
        struct stat a, b;

        return find_file(programs, one, &a) && find_file(programs, other, &b) &&
               a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
