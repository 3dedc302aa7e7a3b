/*
 * maker/kept.c - the sandbox's keeping.
 *
 * Room: maker (program). Touches: fd, the keeping, names that are moved there.
 * Theory: a rename by directory descriptors takes the name as it is, link or not, atomically.
 * Between file systems it is copied within bounds and removed. Links are copied as links; anything
 * but a file, directory or link is only removed.
 */
#include "maker/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "maker/owner.h"

enum {
        NAME_ROOM = 256,
        NAME_MOST = 240,
        VERSIONS_MAX = 64,
        NO_REPLACE = 1,
        DEPTH_MAX = 16,
        PASSES_MAX = 8,
        LINK_ROOM = 4096
};
enum { COPY_BYTES = 64 << 20, COPY_ENTRIES = 4096 };

struct copying {
        uint64_t bytes;
        unsigned entries;
};

static char block[64 * 1024];

/* -- the directory ----------------------------------------------------------------------------- */

/*
 * Opens each directory in the path without changing it; creates missing ones for the caller alone.
 */
static int
open_way(const char *base)
{
        int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        while (dir >= 0 && *base != '\0') {
                char piece[NAME_ROOM];
                size_t len;
                int next;

                base += strspn(base, "/");
                len = strcspn(base, "/");
                if (len == 0)
                        break;
                if (len >= sizeof piece) {
                        (void)close(dir);
                        return -ENAMETOOLONG;
                }
                memcpy(piece, base, len);
                piece[len] = '\0';
                base += len;
                next = mkdirat(dir, piece, 0700) < 0 && errno != EEXIST && errno != EROFS &&
                                       errno != EACCES
                               ? -1
                               : openat(dir, piece, O_PATH | O_DIRECTORY | O_CLOEXEC);
                (void)close(dir);
                dir = next;
        }
        return dir < 0 ? -errno : dir;
}

/*
 * Opens the keeping for names of `source` (number `index`). Creates it and its parents if missing:
 * mode 0700, and the last one belongs to the source's owner. Gives a descriptor or -errno.
 */
static int
open_keeping(const char *base, int source, unsigned index)
{
        char piece[16];
        struct stat owner, st;
        int way, dir;

        if (*base == '\0')
                return -ENOENT;
        way = open_way(base);
        if (way < 0)
                return way;
        (void)snprintf(piece, sizeof piece, "%u", index);
        if (mkdirat(way, piece, 0700) < 0 && errno != EEXIST) {
                int result = -errno;

                (void)close(way);
                return result;
        }
        dir = openat(way, piece, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)close(way);
        if (dir < 0)
                return -errno;
        if (fstat(source, &owner) < 0 || fstat(dir, &st) < 0 ||
            (geteuid() == 0 && st.st_uid != owner.st_uid &&
             fchown(dir, owner.st_uid, owner.st_gid) < 0)) {
                int result = -errno;

                (void)close(dir);
                return result;
        }
        return dir;
}

/* Removes the directories that open_keeping() created, if they are empty. */
static void
drop_keeping(const char *base, unsigned index)
{
        char path[LINK_ROOM];
        char *slash;

        if (snprintf(path, sizeof path, "%s/%u", base, index) >= (int)sizeof path)
                return;
        for (int i = 0; i < 3 && rmdir(path) == 0 && (slash = strrchr(path, '/')) != NULL; i++)
                *slash = '\0';
}

/* -- between file systems ---------------------------------------------------------------------- */

static int copy_entry(int from, const char *name, int to, const char *as, unsigned depth,
                      struct copying *c);

static int
copy_file(int from, const char *name, int to, const char *as, struct copying *c)
{
        int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int out =
                in < 0 ? -1
                       : openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int result = out < 0 ? -errno : 0;
        ssize_t got;

        while (result == 0 && (got = read(in, block, sizeof block)) != 0) {
                c->bytes += got > 0 ? (uint64_t)got : 0;
                if (got < 0 || c->bytes > COPY_BYTES)
                        result = got < 0 ? -errno : -EFBIG;
                else if (write(out, block, (size_t)got) != got)
                        result = -ENOSPC;
        }
        if (in >= 0)
                (void)close(in);
        if (out >= 0)
                (void)close(out);
        return result;
}

static int
copy_link(int from, const char *name, int to, const char *as)
{
        char target[LINK_ROOM];
        ssize_t len = readlinkat(from, name, target, sizeof target - 1);

        if (len < 0)
                return -errno;
        target[len] = '\0';
        return symlinkat(target, to, as) < 0 ? -errno : 0;
}

static int
copy_directory(int from, const char *name, int to, const char *as, unsigned depth,
               struct copying *c)
{
        _Alignas(8) char entries[2048];
        int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), out,
            result = 0;
        long got = 0;

        if (in < 0)
                return -errno;
        out = mkdirat(to, as, 0700) < 0
                      ? -1
                      : openat(to, as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (out < 0)
                result = -errno;
        while (result == 0 && (got = syscall(SYS_getdents64, in, entries, sizeof entries)) > 0)
                for (long at = 0; at < got && result == 0;) {
                        const struct kept_dirent *d =
                                (const struct kept_dirent *)(const void *)(entries + at);

                        if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
                                result = copy_entry(in, d->name, out, d->name, depth + 1, c);
                        at += d->len;
                }
        (void)close(in);
        if (out >= 0)
                (void)close(out);
        return result;
}

static int
copy_entry(int from, const char *name, int to, const char *as, unsigned depth, struct copying *c)
{
        struct stat st;

        if (depth > DEPTH_MAX || ++c->entries > COPY_ENTRIES)
                return -EFBIG;
        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (S_ISDIR(st.st_mode))
                return copy_directory(from, name, to, as, depth, c);
        if (S_ISLNK(st.st_mode))
                return copy_link(from, name, to, as);
        return S_ISREG(st.st_mode) ? copy_file(from, name, to, as, c) : 0;
}

static int
remove_entry(int dir, const char *name, unsigned depth)
{
        _Alignas(8) char entries[2048];
        int fd;
        long got;

        if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
                return 0;
        if ((errno != EISDIR && errno != EPERM) || depth > 4 * DEPTH_MAX)
                return -errno;
        for (int pass = 0; pass < PASSES_MAX; pass++) {
                if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                        return 0;
                fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                (void)fchmod(fd, 0700);
                while ((got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
                        for (long at = 0; at < got;) {
                                const struct kept_dirent *d =
                                        (const struct kept_dirent *)(const void *)(entries + at);

                                if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
                                        (void)remove_entry(fd, d->name, depth + 1);
                                at += d->len;
                        }
                (void)close(fd);
        }
        return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int
copy_away(int dir, const char *name, int keeping, const char *as)
{
        struct copying c = { 0 };
        int result = copy_entry(dir, name, keeping, as, 0, &c);
        int removed;

        if (result == -EEXIST)
                return result;
        removed = remove_entry(dir, name, 0);
        return removed < 0 ? removed : result;
}

/* -- moving ------------------------------------------------------------------------------------ */

/*
 * A directory can only be moved if it is writable, and the payload may have closed it. Never
 * through a link.
 */
static void
open_up(int dir, const char *name)
{
        int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char path[64];

        if (fd < 0)
                return;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (chmod(path, 0700) < 0)
                errno = EACCES; /* the next attempt reports it */
        (void)close(fd);
}

static int
move_as(int dir, const char *name, int keeping, const char *as, int may_copy)
{
        for (int tries = 0;; tries++) {
                if (syscall(SYS_renameat2, dir, name, keeping, as, NO_REPLACE) == 0)
                        return 0;
                if (errno == EXDEV && may_copy) {
                        open_up(dir, name);
                        return copy_away(dir, name, keeping, as);
                }
                if ((errno != EACCES && errno != EPERM) || tries > 0)
                        return -errno;
                open_up(dir, name);
        }
}

/*
 * Moves `name` in the directory `dir` to the keeping, under a name built from `path`. If that is
 * another file system, it is copied and removed if `may_copy`; later writes to it are then lost.
 * Gives the new path (`room` bytes). Returns 0 or -errno (-EXDEV: not copied; -EFBIG: too large to
 * copy, removed all the same).
 */
static int
move_under(int dir, const char *name, int keeping, const char *base, unsigned index,
           const char *path, int may_copy, char *ret, size_t room)
{
        char as[NAME_ROOM];
        int result = -EEXIST;
        size_t whole = strlen(path);

        path += whole < NAME_MOST ? 0 : whole - NAME_MOST;

        for (unsigned i = 0; i < VERSIONS_MAX && result == -EEXIST; i++) {
                int len = i == 0 ? snprintf(as, sizeof as, "%s", path)
                                 : snprintf(as, sizeof as, "%s.%u", path, i);

                if (len < 0 || len >= (int)sizeof as)
                        return -ENAMETOOLONG;
                for (char *at = as; *at != '\0'; at++)
                        if (*at == '/')
                                *at = '%';
                result = move_as(dir, name, keeping, as, may_copy);
        }
        if (result == -ENOENT)
                return -ENOENT;
        if (result == 0 && snprintf(ret, room, "%s/%u/%s", base, index, as) >= (int)room)
                return -ENAMETOOLONG;
        return result;
}

/* -- choosing the place ------------------------------------------------------------------------ */

void
kept_places_read(struct kept_places *ret, const struct plan_view *view)
{
        ret->count = 0;
        for (uint32_t i = 0; i < view->step_count && ret->count < KEPT_PLACES_MAX; i++)
                if (view->steps[i].op == STEP_KEEPING)
                        ret->bases[ret->count++] = plan_view_step(view, i).path;
}

static bool
is_inode(int dir, const char *name, const struct stat *judged)
{
        struct stat st;

        return !judged || (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                           st.st_dev == judged->st_dev && st.st_ino == judged->st_ino);
}

/*
 * A rename moves whatever has the name at that moment, so the inode is checked afterwards. A copy
 * has another inode and was checked before.
 */
static int
check_moved(int dir, const char *name, int keeping, const char *kept, const struct stat *judged)
{
        const char *as = strrchr(kept, '/') + 1;
        struct stat st;

        if (!judged || fstatat(keeping, as, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            (st.st_dev == judged->st_dev && st.st_ino == judged->st_ino))
                return 0;
        return syscall(SYS_renameat2, keeping, as, dir, name, NO_REPLACE) == 0 ? -ENOENT : 0;
}

int
kept_take(const struct kept_places *places, int source, unsigned index, int dir, const char *name,
          const char *path, const struct stat *judged, char *kept)
{
        int result = -ENOSPC;

        /* First try a rename at each place, then a copy. */
        for (size_t i = 0; i < 2 * places->count && result < 0 && result != -ENOENT; i++) {
                /* lint: without a place there is no turn */
                const char *base = places->bases[i % places->count];
                bool may_copy = i >= places->count;
                int keeping;

                if (!is_inode(dir, name, judged))
                        return -ENOENT;
                owner_leave();
                keeping = open_keeping(base, source, index);
                owner_enter(source);
                if (keeping < 0)
                        continue;
                result = move_under(dir, name, keeping, base, index, path, may_copy, kept,
                                    KEPT_PATH_ROOM);
                if (result == 0 && !may_copy)
                        result = check_moved(dir, name, keeping, kept, judged);
                (void)close(keeping);
                if (result < 0) {
                        owner_leave();
                        drop_keeping(base, index);
                        owner_enter(source);
                }
        }
        return result;
}
