/*
 * audit/tree.c - one digest of a directory.
 *
 * Room: audit (acting). Touches: fd, the files below one directory, which it reads.
 * Theory: names in the order of their bytes, each with its kind, permissions, and the SHA-256 of
 * its content or target; a directory is followed by its names, and by an end.
 */
#include "audit/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/files.h"
#include "base/buffer.h"
#include "base/scoped.h"

struct walk {
        crypto_hash_sha256_state sum;
        struct audit_tree *tree;
};

static int
unreadable(const char *name, struct error *e)
{
        return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "unreadable", "reading %.200s: %s", name,
                       strerror(errno));
}

static void
add(struct walk *w, const char *text)
{
        (void)crypto_hash_sha256_update(&w->sum, (const unsigned char *)text, strlen(text) + 1);
}

static int
count(struct walk *w, uint64_t bytes, struct error *e)
{
        w->tree->names++;
        w->tree->bytes += bytes;
        if (w->tree->names <= AUDIT_TREE_NAMES_MAX && w->tree->bytes <= AUDIT_TREE_BYTES_MAX)
                return 0;
        return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "too_large",
                       "the workspace has more than %d names, or %d bytes", AUDIT_TREE_NAMES_MAX,
                       AUDIT_TREE_BYTES_MAX);
}

static int
add_file(struct walk *w, int dir, const char *name, struct error *e)
{
        scoped_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char hash[AUDIT_HASH_TEXT];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return unreadable(name, e);
        if (count(w, (uint64_t)st.st_size, e) < 0 ||
            audit_file_hash(fd, 0, (size_t)st.st_size, hash, e) < 0)
                return -1;
        add(w, hash);
        return 0;
}

static int
add_link(struct walk *w, int dir, const char *name, struct error *e)
{
        char target[PATH_MAX];
        ssize_t len = readlinkat(dir, name, target, sizeof target - 1);

        if (len < 0)
                return unreadable(name, e);
        target[len] = '\0';
        add(w, target);
        return count(w, 0, e);
}

static int add_directory(struct walk *w, int take_fd, unsigned depth, struct error *e);

static int
add_name(struct walk *w, int dir, const char *name, unsigned depth, struct error *e)
{
        char head[16];
        struct stat st;
        int fd;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return unreadable(name, e);
        (void)snprintf(head, sizeof head, "%o", (unsigned)st.st_mode);
        add(w, name);
        add(w, head);
        if (S_ISREG(st.st_mode))
                return add_file(w, dir, name, e);
        if (S_ISLNK(st.st_mode))
                return add_link(w, dir, name, e);
        if (!S_ISDIR(st.st_mode))
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "other_kind",
                               "%.200s in the workspace is no file, directory or link", name);
        if (count(w, 0, e) < 0)
                return -1;
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? unreadable(name, e) : add_directory(w, fd, depth + 1, e);
}

static int
compare(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
free_names(char **names, size_t found)
{
        for (size_t i = 0; i < found; i++)
                free(names[i]);
        free(names);
}

/* The names of a directory, in order. Takes `list`. */
static int
read_names(DIR *take_list, char ***ret, size_t *ret_count, struct error *e)
{
        char *bytes = NULL, *name = NULL;
        const struct dirent *entry;
        size_t room = 0, found = 0;

        while ((entry = readdir(take_list))) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                name = strdup(entry->d_name);
                if (!name || buffer_reserve(&bytes, &room, (found + 1) * sizeof name) < 0)
                        break;
                /* lint: buffer_reserve() aligns for any type */
                ((char **)(void *)bytes)[found++] = name;
                name = NULL;
        }
        (void)closedir(take_list);
        free(name);
        *ret = (char **)(void *)bytes;
        *ret_count = found;
        if (!entry && found > 0)
                qsort(bytes, found, sizeof name, compare);
        /* lint: the names are in `bytes`, which the caller frees */
        return entry ? fail(e, ERROR_NO_MEMORY, "no memory for the names of a directory") : 0;
}

static int
add_directory(struct walk *w, int take_fd, unsigned depth, struct error *e)
{
        scoped_fd int fd = take_fd;
        int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;
        DIR *list = again >= 0 ? fdopendir(again) : NULL;
        char **names;
        size_t found;

        if (!list && again >= 0)
                (void)close(again);
        if (!list)
                return unreadable("a directory of the workspace", e);
        result = read_names(list, &names, &found, e);
        if (result == 0 && depth > AUDIT_TREE_DEPTH)
                result = fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "too_large",
                                 "the workspace is deeper than %d directories", AUDIT_TREE_DEPTH);
        for (size_t i = 0; i < found && result == 0; i++)
                result = add_name(w, fd, names[i], depth, e);
        free_names(names, found);
        add(w, "");
        return result;
}

int
audit_tree_read(const char *path, struct audit_tree *ret, struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct walk w = { .tree = ret };
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret = (struct audit_tree){ .names = 0 };
        if (fd < 0)
                return unreadable(path, e);
        (void)crypto_hash_sha256_init(&w.sum);
        if (add_directory(&w, fd, 0, e) < 0)
                return -1;
        (void)crypto_hash_sha256_final(&w.sum, sum);
        (void)sodium_bin2hex(ret->sha256, sizeof ret->sha256, sum, sizeof sum);
        return 0;
}
