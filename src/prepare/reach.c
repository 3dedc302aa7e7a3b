/*
 * prepare/reach.c - could this user have opened a host file?
 *
 * Room: prepare (joining). Touches: fd, directories of the host (reading only).
 * Theory: modes are read from handles, one name at a time and without links, and the last handle
 * must be the file that will be shown.
 */
#include "prepare/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scoped.h"

enum { NAME_LEN = 256 };

/*
 * POSIX: the first class that matches decides, so an owner has only the owner's bits. It is unknown
 * whether the caller is in the group: both the group and the others must permit it.
 */
static bool
may(int fd, const struct stat *st, uint32_t uid, bool wants_read)
{
        char link[64];
        unsigned wanted = (S_ISDIR(st->st_mode) ? S_IXOTH : 0) | (wants_read ? S_IROTH : 0);

        if (S_ISLNK(st->st_mode))
                return false;
        if (st->st_uid == uid)
                return (st->st_mode >> 6 & wanted) == wanted;
        if ((st->st_mode & wanted) != wanted || (st->st_mode >> 3 & wanted) != wanted)
                return false;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        return getxattr(link, "system.posix_acl_access", NULL, 0) < 0 &&
               (errno == ENODATA || errno == ENOTSUP);
}

/* Takes the next name from `path` and advances it; false if the name is too long. */
static bool
next_name(const char **path, char ret[NAME_LEN])
{
        size_t len;

        *path += strspn(*path, "/");
        len = strcspn(*path, "/");
        if (len >= NAME_LEN)
                return false;
        memcpy(ret, *path, len);
        ret[len] = '\0';
        *path += len;
        return true;
}

bool
reach_may_open(const char *path, dev_t device, ino_t inode, uint32_t uid)
{
        scoped_fd int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        char name[NAME_LEN];
        struct stat st;

        for (;;) {
                int next;

                if (fd < 0 || fstat(fd, &st) < 0 || !next_name(&path, name))
                        return false;
                if (name[0] == '\0')
                        return st.st_dev == device && st.st_ino == inode && may(fd, &st, uid, true);
                if (!may(fd, &st, uid, false))
                        return false;
                next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                (void)close(fd);
                fd = next;
        }
}
