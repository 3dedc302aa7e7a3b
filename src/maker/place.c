/*
 * maker/place.c - resolves names beneath the new root.
 *
 * Room: maker (program). Touches: fd.
 * Theory: a user's source may contain planted links. openat2 refuses every link in the path in one
 * call. If the kernel (or a filter of the host) does not support it, a walk by component with
 * O_NOFOLLOW does the same (B11). An image has links of its own (/tmp -> /var/tmp, /home ->
 * var/home). The kernel follows them as if the root had been entered; the walk refuses them.
 */
#include "maker/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

enum { PIECE_MAX = 256, PATH_ROOM = 4096 };

static int
step_into(int dir, const char *piece, size_t len)
{
        char name[PIECE_MAX];
        struct stat st;
        int next;

        if (len >= sizeof name || (len == 2 && piece[0] == '.' && piece[1] == '.')) {
                (void)close(dir);
                return -EINVAL;
        }
        memcpy(name, piece, len);
        name[len] = '\0';
        next = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        next = next < 0 ? -errno : next;
        (void)close(dir);
        if (next >= 0 && fstat(next, &st) == 0 && S_ISLNK(st.st_mode)) {
                (void)close(next);
                return -ELOOP;
        }
        return next;
}

static int
walk(int root, const char *path, const char *end)
{
        int at = (int)syscall(SYS_fcntl, root, F_DUPFD_CLOEXEC, 3);

        at = at < 0 ? -errno : at;
        while (at >= 0 && path < end) {
                size_t len = strcspn(path, "/");

                if (len > (size_t)(end - path))
                        len = (size_t)(end - path);
                if (len > 0)
                        at = step_into(at, path, len);
                path += len + (path[len] == '/');
        }
        return at;
}

static int
has_way_up(const char *path, const char *end)
{
        for (const char *at = path; at + 1 < end; at++)
                if (at[0] == '.' && at[1] == '.' && (at == path || at[-1] == '/') &&
                    (at + 2 == end || at[2] == '/'))
                        return 1;
        return 0;
}

/* The same in one call; -ENOSYS if openat2 is not available. */
static int
leap(int root, const char *path, const char *end, enum place_links links)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC,
                                .resolve = RESOLVE_NO_MAGICLINKS |
                                           (links == PLACE_LINKS
                                                    ? RESOLVE_IN_ROOT
                                                    : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS) };
        char name[PATH_ROOM];
        long fd;

        while (path < end && *path == '/')
                path++;
        if (path == end || (size_t)(end - path) >= sizeof name || has_way_up(path, end))
                return -ENOSYS;
        memcpy(name, path, (size_t)(end - path));
        name[end - path] = '\0';
        fd = syscall(SYS_openat2, root, name, &how, sizeof how);
        return fd >= 0                                                 ? (int)fd
               : errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? -errno
                                                                       : -ENOSYS;
}

static int
reach(int root, const char *path, const char *end, enum place_links links)
{
        int fd;

        while (end > path && end[-1] == '/') /* the two methods treat a final slash differently */
                end--;
        fd = leap(root, path, end, links);
        return fd == -ENOSYS ? walk(root, path, end) : fd;
}

int
place_open(int root, const char *path, enum place_links links)
{
        return reach(root, path, path + strlen(path), links);
}

int
place_open_parent(int root, const char *path, enum place_links links, const char **ret_name)
{
        const char *slash = strrchr(path, '/');

        if (!slash || slash[1] == '\0' || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
                return -EINVAL;
        *ret_name = slash + 1;
        return reach(root, path, slash, links);
}

int
place_make_directory(int root, const char *path, enum place_links links, int parent,
                     const char *name, mode_t mode)
{
        int there;

        if (mkdirat(parent, name, mode) == 0)
                return 0;
        if (errno != EEXIST || links != PLACE_LINKS)
                return -errno;
        there = place_open(root, path, links);
        if (there >= 0)
                (void)close(there);
        if (there != -ENOENT)
                return -EEXIST;
        return unlinkat(parent, name, 0) < 0 || mkdirat(parent, name, mode) < 0 ? -errno : 0;
}
