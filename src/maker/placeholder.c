/*
 * maker/placeholder.c - stands where a protected name is missing.
 *
 * Room: maker (program). Touches: fd, one empty name beneath a source.
 * Theory: its mode (0400 or 0500), its time and next to no content are its mark; whatever else is found there is somebody's and stays.
 */
#include "maker/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/protect.h"


/* Opens the directory that holds the last piece of s->path, following no symbolic link. */
static int
open_parent(int source, const char *path, const char **ret_name)
{
        int dir = fcntl(source, F_DUPFD_CLOEXEC, 3);
        const char *slash;

        while (dir >= 0 && (slash = strchr(path, '/')) != NULL) {
                char piece[256];
                size_t len = (size_t)(slash - path);
                int next;

                if (len == 0 || len >= sizeof piece) {
                        (void)close(dir);
                        return -EINVAL;
                }
                memcpy(piece, path, len);
                piece[len] = '\0';
                next = openat(dir, piece, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                (void)close(dir);
                dir = next;
                path = slash + 1;
        }
        *ret_name = path;
        return dir < 0 ? -errno : dir;
}

static const char *
content_of(const char *path)
{
        size_t len = strlen(path), last = sizeof PROTECT_COMMONDIR - 1;

        return len >= last && strcmp(path + len - last, PROTECT_COMMONDIR) == 0 ? PROTECT_COMMONDIR_TEXT : "";
}

static int
make_at(int dir, const char *name, unsigned is_directory, const char *content, const struct stat *owner)
{
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = PLACEHOLDER_TIME_S } };
        int fd;
        int result = 0;

        if (is_directory) {
                if (mkdirat(dir, name, PLACEHOLDER_DIRECTORY) < 0)
                        return errno == EEXIST ? 0 : -errno;
                fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        } else {
                fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PLACEHOLDER_FILE);
                if (fd < 0 && errno == EEXIST)
                        return 0;
        }
        if (fd < 0)
                return -errno;
        if (fchmod(fd, is_directory ? PLACEHOLDER_DIRECTORY : PLACEHOLDER_FILE) < 0)
                result = -errno;
        if (!is_directory && write(fd, content, strlen(content)) != (ssize_t)strlen(content))
                result = -EIO;
        if (futimens(fd, times) < 0)
                result = -errno;
        if (geteuid() == 0 && fchown(fd, owner->st_uid, owner->st_gid) < 0)
                result = -errno;
        (void)close(fd);
        return result;
}

int
placeholder_make(const struct step *s, int source)
{
        const char *name;
        struct stat owner;
        int dir = open_parent(source, s->path, &name);
        int result;

        if (dir < 0)
                return dir;
        result = fstat(dir, &owner) < 0 ? -errno : make_at(dir, name, s->flags & STEP_DIRECTORY, content_of(s->path), &owner);
        (void)close(dir);
        return result;
}

void
placeholder_remove(const struct step *s)
{
        int source = open(s->text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        struct stat st;
        int dir;

        if (source < 0)
                return;
        dir = open_parent(source, s->path, &name);
        (void)close(source);
        if (dir < 0)
                return;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                if (protect_is_placeholder(&st))
                        (void)unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
        }
        (void)close(dir);
}
