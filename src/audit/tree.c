/*
 * audit/tree.c - one digest of a directory.
 *
 * Room: audit (acting). Touches: fd, the files below one directory, which it reads.
 * Theory: names in the order of their bytes, each with its kind, permissions, and the SHA-256 of
 * its content or target; a directory is followed by its names, and by an end.
 */
#include "audit/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/files.h"
#include "audit/names.h"
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

static int
add_name(void *ctx, int dir, const char *name, const struct stat *st, unsigned depth,
         struct error *e)
{
        struct walk *w = ctx;
        char head[16];

        (void)snprintf(head, sizeof head, "%o", (unsigned)st->st_mode);
        add(w, name);
        add(w, head);
        if (S_ISREG(st->st_mode))
                return add_file(w, dir, name, e);
        if (S_ISLNK(st->st_mode))
                return add_link(w, dir, name, e);
        if (!S_ISDIR(st->st_mode))
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "other_kind",
                               "%.200s in the workspace is no file, directory or link", name);
        if (depth == AUDIT_TREE_DEPTH)
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "too_large",
                               "the workspace is deeper than %d directories", AUDIT_TREE_DEPTH);
        return count(w, 0, e);
}

static int
end_directory(void *ctx, unsigned depth, struct error *e)
{
        (void)depth;
        (void)e;
        add(ctx, "");
        return 0;
}

static int
cannot_read(void *ctx, const char *name, unsigned depth, int sys, struct error *e)
{
        (void)ctx;
        (void)depth;
        errno = sys;
        return unreadable(name, e);
}

static int
cut(void *ctx, struct error *e)
{
        return count(ctx, (uint64_t)AUDIT_TREE_BYTES_MAX + 1, e);
}

int
audit_tree_read_fd(int fd, struct audit_tree *ret, struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct walk w = { .tree = ret };
        struct audit_names visit = { &w,          add_name, end_directory,
                                     cannot_read, cut,      AUDIT_TREE_NAMES_MAX + 1 };

        *ret = (struct audit_tree){ .names = 0 };
        (void)crypto_hash_sha256_init(&w.sum);
        if (audit_names_walk(fd, &visit, e) < 0)
                return -1;
        (void)crypto_hash_sha256_final(&w.sum, sum);
        (void)sodium_bin2hex(ret->sha256, sizeof ret->sha256, sum, sizeof sum);
        return 0;
}

int
audit_tree_read(const char *path, struct audit_tree *ret, struct error *e)
{
        scoped_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? unreadable(path, e) : audit_tree_read_fd(fd, ret, e);
}
