/*
 * audit/names.c - visits every name below a directory.
 *
 * Room: audit (acting). Touches: fd, the directories below one directory, which it reads.
 */
#include "audit/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/scoped.h"

enum { DIRECTORY_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

struct list {
        char **names;
        size_t count;
        bool is_cut;
};

static int
compare(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
list_fini(struct list *l)
{
        for (size_t i = 0; i < l->count; i++)
                free(l->names[i]);
        free(l->names);
}

/* The names of a directory, in order. Takes `list`. */
static int
read_names(DIR *take_list, size_t most, struct list *ret, struct error *e)
{
        char *bytes = NULL, *name = NULL;
        const struct dirent *entry;
        size_t room = 0, found = 0;

        while (found < most && (entry = readdir(take_list))) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                name = strdup(entry->d_name);
                if (!name || buffer_reserve(&bytes, &room, (found + 1) * sizeof name) < 0)
                        break;
                /* lint: buffer_reserve() aligns for any type */
                ((char **)(void *)bytes)[found++] = name;
                name = NULL;
        }
        ret->is_cut = found == most;
        (void)closedir(take_list);
        ret->names = (char **)(void *)bytes;
        ret->count = found;
        if (found > 0)
                qsort(bytes, found, sizeof name, compare);
        free(name);
        /* lint: the names are in `bytes`, which the caller frees */
        if (found < most && entry)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of a directory");
        return 0;
}

static int visit_directory(int take_fd, const char *name, struct audit_names *v, unsigned depth,
                           struct error *e);

static int
visit_name(int dir, const char *name, struct audit_names *v, unsigned depth, struct error *e)
{
        struct stat st;
        int result;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : v->unreadable(v->ctx, name, depth, errno, e);
        result = v->name(v->ctx, dir, name, &st, depth, e);
        if (result != 0 || !S_ISDIR(st.st_mode))
                return result < 0 ? -1 : 0;
        return visit_directory(openat(dir, name, DIRECTORY_FLAGS), name, v, depth + 1, e);
}

/* Takes the directory; negative: it could not be opened, and errno says why. */
static int
visit_directory(int take_fd, const char *name, struct audit_names *v, unsigned depth,
                struct error *e)
{
        scoped_fd int fd = take_fd;
        int again = fd < 0 ? -1 : openat(fd, ".", DIRECTORY_FLAGS);
        DIR *directory = again >= 0 ? fdopendir(again) : NULL;
        struct list list = { .names = NULL };
        int result;

        if (!directory) {
                int sys = errno;

                if (again >= 0)
                        (void)close(again);
                result = v->unreadable(v->ctx, name, depth, sys, e);
                return result < 0 ? -1 : v->leave(v->ctx, depth, e);
        }
        result = read_names(directory, v->left, &list, e);
        v->left -= list.count;
        if (result == 0 && list.is_cut)
                result = v->cut(v->ctx, e);
        for (size_t i = 0; i < list.count && result == 0; i++)
                result = visit_name(fd, list.names[i], v, depth, e);
        list_fini(&list);
        return result < 0 ? -1 : v->leave(v->ctx, depth, e);
}

int
audit_names_walk(int fd, struct audit_names *visit, struct error *e)
{
        return visit_directory(openat(fd, ".", DIRECTORY_FLAGS), ".", visit, 0, e);
}
