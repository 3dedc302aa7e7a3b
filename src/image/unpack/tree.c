/*
 * image/unpack/tree.c - reads a plain directory as if it were an archive.
 *
 * Room: image/unpack (program). Touches: fd (what is beneath one directory, for reading).
 * Theory: a directory has no digest, so it gets one here, and the same call that hashes also
 * copies. Whoever copies compares the two digests: a tree that changed in between is not imported.
 */
#include "image/unpack/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"

enum { READ_BYTES = 256 << 10, STEP_BYTES = 1 << 20 };

struct reader {
        struct target *target;
        crypto_hash_sha256_state hash;
        bool is_copied;
        int source;
        dev_t device;
        void (*step)(void *ctx);
        void *ctx;
        uint64_t stepped; /* bytes since the last step */
        char *bytes;      /* READ_BYTES */
        char path[TARGET_PATH_MAX + 1];
};

struct names {
        char **items;
        size_t count, room;
};

static int read_directory(struct reader *r, size_t len, unsigned depth);

/* -- opening ----------------------------------------------------------------------------------- */

static int
refuse(struct reader *r, const char *reason, int sys)
{
        return target_refuse(r->target, r->path, reason, sys);
}

static int
open_entry(struct reader *r, int flags)
{
        struct open_how how = { .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                           RESOLVE_NO_MAGICLINKS };
        int fd = (int)syscall(SYS_openat2, r->source, r->path[0] ? r->path : ".", &how, sizeof how);

        if (fd < 0)
                (void)refuse(r, errno == EACCES || errno == EPERM ? "unreadable" : "changed",
                             errno);
        return fd;
}

/* -- what is hashed ---------------------------------------------------------------------------- */

/* Each text is followed by a NUL, and contents by their length: no two trees give the same bytes.
 */
static void
hash_head(struct reader *r, const struct stat *st, uint64_t size)
{
        char head[96];
        int len = snprintf(head, sizeof head, "%o %llu %lld.%09ld", (unsigned)st->st_mode,
                           (unsigned long long)size, (long long)st->st_mtim.tv_sec,
                           st->st_mtim.tv_nsec);

        (void)crypto_hash_sha256_update(&r->hash, (const unsigned char *)r->path,
                                        strlen(r->path) + 1);
        (void)crypto_hash_sha256_update(&r->hash, (const unsigned char *)head, (size_t)len + 1);
}

static void
count_step(struct reader *r, size_t len)
{
        r->stepped += len;
        if (!r->is_copied)
                r->target->bytes += len; /* shown as progress */
        if (r->stepped < STEP_BYTES)
                return;
        r->stepped = 0;
        r->step(r->ctx);
}

/* -- files ------------------------------------------------------------------------------------- */

static int
put(struct reader *r, int to, size_t len, off_t at)
{
        if (target_room(r->target, len) < 0)
                return -1;
        for (size_t done = 0; done < len;) {
                ssize_t now = pwrite(to, r->bytes + done, len - done, at + (off_t)done);

                if (now < 0 && errno == EINTR)
                        continue;
                if (now <= 0)
                        return refuse(r, now < 0 && errno != ENOSPC ? "failed" : "room",
                                      now < 0 ? errno : ENOSPC);
                done += (size_t)now;
        }
        return 0;
}

/* Exactly `size` bytes, hashed, and written to `to` unless it is -1. */
static int
read_content(struct reader *r, int from, int to, uint64_t size)
{
        uint64_t at = 0;

        for (;;) {
                ssize_t len = read(from, r->bytes, READ_BYTES);

                if (len < 0 && errno == EINTR)
                        continue;
                if (len < 0)
                        return refuse(r, "failed", errno);
                if (len == 0)
                        return at == size ? 0 : refuse(r, "changed", 0);
                if ((uint64_t)len > size - at)
                        return refuse(r, "changed", 0);
                (void)crypto_hash_sha256_update(&r->hash, (const unsigned char *)r->bytes,
                                                (size_t)len);
                if (to >= 0 && put(r, to, (size_t)len, (off_t)at) < 0)
                        return -1;
                at += (uint64_t)len;
                count_step(r, (size_t)len);
        }
}

static int
make(struct reader *r, const struct stat *st, const char *link, int *ret_fd,
     struct target_entry *ret)
{
        *ret = (struct target_entry){ .name = r->path[0] ? r->path : ".",
                                      .mode = st->st_mode,
                                      .link = link,
                                      .size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
                                      .at = st->st_mtim };
        *ret_fd = -1;
        return r->is_copied ? target_make(r->target, ret, ret_fd) : 0;
}

static int
read_file(struct reader *r, const struct stat *seen)
{
        scoped_fd int from = open_entry(r, O_RDONLY | O_NONBLOCK);
        struct target_entry entry;
        struct stat st;
        int to;

        if (from < 0)
                return -1;
        if (fstat(from, &st) < 0 || st.st_ino != seen->st_ino || st.st_dev != seen->st_dev)
                return refuse(r, "changed", 0);
        if (make(r, &st, NULL, &to, &entry) < 0)
                return -1;
        hash_head(r, &st, entry.size);
        if (read_content(r, from, to, entry.size) == 0)
                return to < 0 ? 0 : target_filled(r->target, &entry, to);
        scoped_fd_close(&to);
        return -1;
}

static int
read_other(struct reader *r, int fd, const struct stat *st)
{
        char link[PATH_MAX] = "";
        struct target_entry entry;
        ssize_t len = S_ISLNK(st->st_mode) ? readlinkat(fd, "", link, sizeof link - 1) : 0;
        int none;

        if (len < 0)
                return refuse(r, "changed", errno);
        link[len] = '\0';
        hash_head(r, st, (uint64_t)len);
        (void)crypto_hash_sha256_update(&r->hash, (const unsigned char *)link, (size_t)len);
        return make(r, st, link, &none, &entry);
}

/* -- directories ------------------------------------------------------------------------------- */

static void
names_fini(struct names *n)
{
        for (size_t i = 0; i < n->count; i++)
                free(n->items[i]);
        free(n->items);
}

static int
names_add(struct names *n, const char *name)
{
        if (n->count == n->room) {
                size_t room = n->room ? n->room * 2 : 64;
                char **grown = reallocarray(n->items, room, sizeof *grown);

                if (!grown)
                        return -1;
                n->items = grown;
                n->room = room;
        }
        n->items[n->count] = strdup(name);
        /* lint: names_fini() frees the copies */
        return n->items[n->count] ? (n->count++, 0) : -1;
}

static int
by_bytes(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
list(struct reader *r, struct names *n)
{
        int fd = open_entry(r, O_RDONLY | O_DIRECTORY), sys = 0;
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        if (!dir) {
                if (fd >= 0)
                        (void)refuse(r, "failed", errno);
                scoped_fd_close(&fd);
                return -1;
        }
        errno = 0;
        while (!sys && (entry = readdir(dir)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    names_add(n, entry->d_name) < 0)
                        sys = ENOMEM;
        sys = sys ? sys : errno;
        (void)closedir(dir);
        if (n->count > 1)
                qsort(n->items, n->count, sizeof *n->items, by_bytes);
        return sys ? refuse(r, "failed", sys) : 0;
}

static int
read_entry(struct reader *r, size_t len, unsigned depth)
{
        scoped_fd int fd = open_entry(r, O_PATH);
        struct stat st;

        if (fd < 0)
                return -1;
        if (fstat(fd, &st) < 0)
                return refuse(r, "failed", errno);
        if (!r->is_copied)
                r->target->entries++;
        if (S_ISREG(st.st_mode))
                return read_file(r, &st);
        if (read_other(r, fd, &st) < 0)
                return -1;
        scoped_fd_close(&fd);
        return S_ISDIR(st.st_mode) && st.st_dev == r->device ? read_directory(r, len, depth) : 0;
}

/* `len`: of the directory's path. */
static int
read_directory(struct reader *r, size_t len, unsigned depth)
{
        struct names n = { 0 };
        int result = depth > TARGET_DEPTH_MAX ? refuse(r, "name_long", 0) : list(r, &n);

        for (size_t i = 0; result == 0 && i < n.count; i++) {
                size_t more = strlen(n.items[i]), gap = len > 0;

                if (len + gap + more > TARGET_PATH_MAX) {
                        result = refuse(r, "name_long", 0);
                        break;
                }
                if (gap)
                        r->path[len] = '/';
                memcpy(r->path + len + gap, n.items[i], more + 1);
                result = read_entry(r, len + gap + more, depth + 1);
        }
        r->path[len] = '\0';
        names_fini(&n);
        return result;
}

int
tree_read(int source, struct target *target, bool is_copied, void (*step)(void *ctx), void *ctx,
          struct archive_result *ret)
{
        struct reader r = { .target = target,
                            .source = source,
                            .is_copied = is_copied,
                            .step = step,
                            .ctx = ctx,
                            .bytes = malloc(READ_BYTES) };
        struct stat st;
        int result;

        *ret = (struct archive_result){ .why = "" };
        if (!r.bytes || fstat(source, &st) < 0) {
                free(r.bytes);
                return target_refuse(target, NULL, "failed", errno);
        }
        r.device = st.st_dev;
        (void)crypto_hash_sha256_init(&r.hash);
        result = read_directory(&r, 0, 0);
        if (result == 0 && is_copied)
                result = target_end(target);
        (void)crypto_hash_sha256_final(&r.hash, ret->digest);
        free(r.bytes);
        return result;
}
