/*
 * host/programs.c - the programs of PATH, and what file a word is.
 *
 * Room: host (acting). Touches: fd, the directories of PATH.
 * Theory: a name is looked up in the order of PATH, as a shell does, and a path is opened; both end
 * at an inode. Between this and the start of a program the file can change: the sandbox is the
 * wall. In a tree, one file may be several programs by the name that it is called (busybox), and
 * images have many such links: there a path is only a program if its file has one name.
 */
#include "host/programs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "text/nearest.h"

enum { PROGRAMS_MAX = 65536, PATH_ROOM = HOST_PROGRAM_PATH };

struct host_program {
        dev_t device;
        ino_t inode;
        const char *name;
};

static const char *const standard[] = { "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin",
                                        "/sbin" };

static bool
is_program(const struct stat *st)
{
        return S_ISREG(st->st_mode) && (st->st_mode & 0111) != 0;
}

void
host_programs_init(struct host_programs *p, struct arena *arena, int folder)
{
        *p = (struct host_programs){ .arena = arena, .folder = folder };
        p->directory_count = sizeof standard / sizeof *standard;
        memcpy(p->directories, standard, sizeof standard);
}

/* -- what a sandbox has ------------------------------------------------------------------------ */

static bool
is_below(const struct spec_names *roots, const char *path)
{
        for (size_t i = 0; i < roots->count; i++)
                if (path_below(path, roots->items[i]))
                        return true;
        return false;
}

/* Is the path text that the kernel would not lead elsewhere before its first link? */
static bool
is_straight(const char *path)
{
        return path[0] == '/' && !strstr(path, "/../") &&
               !(strlen(path) >= 3 && strcmp(path + strlen(path) - 3, "/..") == 0);
}

/* Can nothing that a command writes be a program of this directory? */
static bool
is_closed(const struct host_programs *p, const char *directory)
{
        char real[PATH_ROOM];
        struct stat st;

        if (!is_straight(directory))
                return false;
        return p->tree ? p->tree->find(p->tree->context, directory, real, &st) != HOST_UNKNOWN
                       : is_below(p->roots, directory);
}

static void
read_path(struct host_programs *p, const char *path)
{
        p->directory_count = 0;
        while (*path != '\0' && !p->is_open) {
                size_t len = strcspn(path, ":");
                const char *directory = arena_copy(p->arena, path, len);

                p->is_open = !directory || p->directory_count == HOST_PROGRAM_DIRECTORIES ||
                             !is_closed(p, directory);
                if (!p->is_open)
                        p->directories[p->directory_count++] = directory;
                path += len + (path[len] == ':');
        }
}

void
host_programs_confine(struct host_programs *p, const struct spec_names *roots, const char *path)
{
        p->roots = roots;
        read_path(p, path);
}

void
host_programs_inside(struct host_programs *p, const struct host_tree *tree, const char *path)
{
        p->tree = tree;
        read_path(p, path);
}

void
host_programs_fini(struct host_programs *p)
{
        if (p->tree)
                p->tree->close(p->tree->context);
        p->tree = NULL;
}

static enum host_found
find_in_tree(const struct host_programs *p, const char *path, char real[PATH_ROOM],
             struct stat *ret)
{
        enum host_found found =
                is_straight(path) ? p->tree->find(p->tree->context, path, real, ret) : HOST_UNKNOWN;

        return found == HOST_FOUND && !is_program(ret) ? HOST_ABSENT : found;
}

/* The real path of a file that a sandbox has too. */
static enum host_found
find_real(const struct host_programs *p, const char *path, char real[PATH_ROOM], struct stat *ret)
{
        if (p->tree)
                return find_in_tree(p, path, real, ret);
        if (p->roots && (!is_straight(path) || !is_below(p->roots, path)))
                return HOST_ABSENT;
        if (fstatat(p->folder, path, ret, 0) < 0 || !is_program(ret))
                return HOST_ABSENT;
        if (path[0] == '/' && realpath(path, real))
                return !p->roots || is_below(p->roots, real) ? HOST_FOUND : HOST_ABSENT;
        real[0] = '\0';
        return !p->roots ? HOST_FOUND : HOST_ABSENT;
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

struct listing {
        struct host_programs *programs;
        const char *directory;
};

static void
add_of_tree(void *of, const char *name)
{
        const struct listing *l = of;
        char path[PATH_ROOM], real[PATH_ROOM];
        struct stat st;
        int len = snprintf(path, sizeof path, "%s/%s", l->directory, name);

        if (len < (int)sizeof path && find_real(l->programs, path, real, &st) == HOST_FOUND)
                add(l->programs, name, &st);
}

static void
list(struct host_programs *p)
{
        if (p->items)
                return;
        p->items = arena_array(p->arena, struct host_program, PROGRAMS_MAX);
        for (size_t i = 0; p->items && i < p->directory_count; i++) {
                struct listing l = { p, p->directories[i] };

                if (p->tree)
                        p->tree->each(p->tree->context, p->directories[i], add_of_tree, &l);
                else
                        add_directory(p, p->directories[i]);
        }
}

/* -- one word ---------------------------------------------------------------------------------- */

/* The program that a shell runs for a name is the first in PATH. */
static enum host_found
find_file(const struct host_programs *p, const char *word, char real[PATH_ROOM], struct stat *ret)
{
        enum host_found found = p->is_open ? HOST_UNKNOWN : HOST_ABSENT;
        char path[PATH_ROOM];

        if (strchr(word, '/'))
                return find_real(p, word, real, ret);
        for (size_t i = 0; i < p->directory_count && found == HOST_ABSENT && word[0] != '\0'; i++) {
                int len = snprintf(path, sizeof path, "%s/%s", p->directories[i], word);

                if (len < (int)sizeof path)
                        found = find_real(p, path, real, ret);
        }
        return found;
}

/* Is the last part of `path` a name of this file in PATH? */
static const char *
name_of(const struct host_programs *p, const char *path, const struct stat *file)
{
        const char *slash = strrchr(path, '/');
        char real[PATH_ROOM];
        struct stat st;

        return slash && find_file(p, slash + 1, real, &st) == HOST_FOUND &&
                               st.st_dev == file->st_dev && st.st_ino == file->st_ino
                       ? slash + 1
                       : NULL;
}

/* Has this file several names in PATH? Then it can be several programs. */
static bool
is_many(struct host_programs *p, const struct stat *file)
{
        const char *found = NULL;

        list(p);
        for (size_t i = 0; i < p->count; i++) {
                if (p->items[i].device != file->st_dev || p->items[i].inode != file->st_ino)
                        continue;
                if (found && strcmp(found, p->items[i].name) != 0)
                        return true;
                found = p->items[i].name;
        }
        return !p->items;
}

/* The same answer in whatever order the directories were read. */
static const char *
search(struct host_programs *p, const struct stat *file)
{
        const char *found = NULL;

        list(p);
        for (size_t i = 0; i < p->count; i++)
                if (p->items[i].device == file->st_dev && p->items[i].inode == file->st_ino &&
                    (!found || strcmp(p->items[i].name, found) < 0))
                        found = p->items[i].name;
        return found;
}

const char *
host_programs_look(struct host_programs *p, const char *word, struct host_file_id *ret)
{
        char real[PATH_ROOM];
        const char *name;
        struct stat st;

        *ret = (struct host_file_id){ 0, 0 };
        if (find_file(p, word, real, &st) != HOST_FOUND)
                return NULL;
        *ret = (struct host_file_id){ st.st_dev, st.st_ino };
        if (!strchr(word, '/'))
                return word;
        name = name_of(p, word, &st);
        if (name)
                return name;
        name = name_of(p, real, &st);
        if (name && p->tree && is_many(p, &st))
                return NULL;
        if (name)
                return arena_text(p->arena, name);
        /* a sandbox's names are those of its files; to list them all takes milliseconds */
        return p->roots || p->tree ? NULL : search(p, &st);
}

const char *
host_programs_find(void *programs, const char *word)
{
        struct host_file_id id;

        return host_programs_look(programs, word, &id);
}

struct suggesting {
        struct nearest nearest;
        struct host_programs *programs;
};

/* Of many names, only the few that are nearer than all before are looked up. */
static void
suggest(void *of, const char *name)
{
        struct suggesting *s = of;
        struct nearest before = s->nearest;
        char real[PATH_ROOM];
        struct stat st;

        if (!nearest_try(&s->nearest, name, name))
                return;
        s->nearest.found = find_file(s->programs, name, real, &st) == HOST_FOUND
                                   ? arena_text(s->programs->arena, name)
                                   : NULL;
        if (!s->nearest.found)
                s->nearest = before;
}

bool
host_programs_lack(struct host_programs *p, const char *name, const char **ret_near)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_.+-";
        struct suggesting s = { nearest_begin(name), p };
        char real[PATH_ROOM];
        struct stat st;

        *ret_near = NULL;
        if (p->is_open || name[0] == '\0' || name[strspn(name, letters)] != '\0' ||
            find_file(p, name, real, &st) != HOST_ABSENT)
                return false;
        for (size_t i = 0; p->tree && i < p->directory_count; i++)
                p->tree->each(p->tree->context, p->directories[i], suggest, &s);
        if (!p->tree)
                list(p);
        for (size_t i = 0; i < p->count && !p->tree; i++)
                (void)nearest_try(&s.nearest, p->items[i].name, p->items[i].name);
        *ret_near = s.nearest.found;
        return true;
}

bool
host_programs_same(void *programs, const char *one, const char *other)
{
        char real[PATH_ROOM];
        struct stat a, b;

        return find_file(programs, one, real, &a) == HOST_FOUND &&
               find_file(programs, other, real, &b) == HOST_FOUND && a.st_dev == b.st_dev &&
               a.st_ino == b.st_ino;
}
