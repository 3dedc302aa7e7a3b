/*
 * maker/place.c - names beneath the new root.
 *
 * Room: maker (program). Touches: fd.
 * Theory: a source of the user's may hold links planted there; walking piece by piece with O_NOFOLLOW needs no
 * openat2 and cannot be led out of the root (B11).
 */
#include "maker/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_MAX = 256 };

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
        int at = fcntl(root, F_DUPFD_CLOEXEC, 3);

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

int
place_open(int root, const char *path)
{
        return walk(root, path, path + strlen(path));
}

int
place_open_parent(int root, const char *path, const char **ret_name)
{
        const char *slash = strrchr(path, '/');

        if (!slash || slash[1] == '\0')
                return -EINVAL;
        *ret_name = slash + 1;
        return walk(root, path, slash);
}
