/*
 * volume/place.c - opens the directory of one owner's volumes.
 *
 * Room: volume (words). Touches: fd, directories of the state directory.
 * Theory: the operator owns the path to the directory. From there on every name is opened by
 * handle, and each directory must belong to this user and be closed to others.
 */
#include "volume/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/volume.h"

int
place_into(int dir, const char *name, int flags)
{
        int fd = openat(dir, name, flags | O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int
place_open_up(int dir, const char *name, unsigned needs)
{
        scoped_fd int fd = place_into(dir, name, O_PATH);
        char link[40];
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
                return -ENOTDIR;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        return (st.st_mode & needs) != needs && chmod(link, (st.st_mode & 07777) | needs) < 0
                       ? -errno
                       : place_into(dir, name, 0);
}

DIR *
place_entries(int dir)
{
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

        if (!list && fd >= 0)
                (void)close(fd);
        return list;
}

/* Opens each directory in the path; one that is created here is closed to others. */
static int
make_way(const char *path)
{
        char part[VOLUME_PATH_MAX];

        for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
                size_t len = slash ? (size_t)(slash - path) : strlen(path);
                int result;

                if (len >= sizeof part)
                        return -ENAMETOOLONG;
                memcpy(part, path, len);
                part[len] = '\0';
                result = mkdir(part, 0700) < 0 ? -errno : 0;
                if (result < 0 && result != -EEXIST &&
                    !(result == -EROFS && access(part, F_OK) == 0))
                        return result;
                if (!slash)
                        return 0;
        }
}

int
place_lock(const char *directory, bool makes)
{
        int fd = place_into(AT_FDCWD, directory, 0);
        struct stat st;

        if (fd == -ENOENT && makes) {
                int result = make_way(directory);

                fd = result < 0 ? result : place_into(AT_FDCWD, directory, 0);
        }
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
                (void)close(fd);
                return -EPERM;
        }
        while (flock(fd, LOCK_EX) < 0)
                if (errno != EINTR) {
                        (void)close(fd);
                        return -ENOLCK;
                }
        return fd;
}
