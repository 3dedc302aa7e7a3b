/*
 * maker/placeholder.c - stands where a protected name is missing.
 *
 * Room: maker (program). Touches: fd, one empty name beneath a source.
 * Theory: its mode (0400 or 0500), its time and next to no content are its mark; whatever else is found there is somebody's and stays.
 * It gets its mark under a name of ours (.NAME.carrel) and its own name at once, so that nobody ever meets one half made: neither
 * another sandbox that starts in the same moment, nor the next start after a kill.
 */
#include "maker/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan/protect.h"

enum { PIECE_ROOM = 256, TRIES = 64, NO_REPLACE = 1 };

/* Opens the directory that holds the last piece of s->path, following no symbolic link. */
static int
open_parent(int source, const char *path, const char **ret_name)
{
        int dir = fcntl(source, F_DUPFD_CLOEXEC, 3);
        const char *slash;

        while (dir >= 0 && (slash = strchr(path, '/')) != NULL) {
                char piece[PIECE_ROOM];
                size_t len = (size_t)(slash - path);
                int next;

                if (len == 0 || len >= sizeof piece || (len == 2 && memcmp(path, "..", 2) == 0)) {
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

/* The name under which it is made. 0 or -ENAMETOOLONG. */
static int
own_name(char *out, const char *name)
{
        int len = snprintf(out, PIECE_ROOM, ".%s.carrel", name);

        return len < 0 || len >= PIECE_ROOM ? -ENAMETOOLONG : 0;
}

static void
remove_own(int dir, const char *own)
{
        if (unlinkat(dir, own, 0) < 0)
                (void)unlinkat(dir, own, AT_REMOVEDIR);
}

static int
mark(int fd, const char *content, const struct stat *owner)
{
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = PLACEHOLDER_TIME_S } };

        if (content && write(fd, content, strlen(content)) != (ssize_t)strlen(content))
                return -EIO;
        if (fchmod(fd, content ? PLACEHOLDER_FILE : PLACEHOLDER_DIRECTORY) < 0 || futimens(fd, times) < 0)
                return -errno;
        return geteuid() == 0 && fchown(fd, owner->st_uid, owner->st_gid) < 0 ? -errno : 0;
}

/* Makes and marks it under our name. -EEXIST: another sandbox is at it, or was killed at it. */
static int
make_own(int dir, const char *own, const char *content, const struct stat *owner)
{
        int fd, result;

        if (!content && mkdirat(dir, own, PLACEHOLDER_DIRECTORY) < 0)
                return -errno;
        fd = content ? openat(dir, own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PLACEHOLDER_FILE)
                     : openat(dir, own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        result = mark(fd, content, owner);
        (void)close(fd);
        return result;
}

/* Gives it its name. Whatever stands there by now is protected as it is: that is no failure. */
static int
give_name(int dir, const char *own, const char *name)
{
        int result = syscall(SYS_renameat2, dir, own, dir, name, NO_REPLACE) < 0 ? -errno : 0;

        if (result < 0)
                remove_own(dir, own);
        return result == -EEXIST ? 0 : result;
}

static int
make_at(int dir, const char *name, const char *content, const struct stat *owner)
{
        char own[PIECE_ROOM];
        struct stat st;
        int result = own_name(own, name);

        if (result < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return result;
        for (int i = 0; i < TRIES; i++) {
                result = make_own(dir, own, content, owner);
                if (result == 0)
                        result = give_name(dir, own, name);
                else if (result == -EEXIST)
                        remove_own(dir, own);
                if (result != -EEXIST && result != -ENOENT)
                        break;
        }
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
        result = fstat(dir, &owner) < 0 ? -errno
                                         : make_at(dir, name, (s->flags & STEP_DIRECTORY) != 0 ? NULL : content_of(s->path), &owner);
        (void)close(dir);
        return result;
}

void
placeholder_remove(const struct step *s)
{
        int source = open(s->text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        char own[PIECE_ROOM];
        const char *name;
        struct stat st;
        int dir;

        if (source < 0)
                return;
        dir = open_parent(source, s->path, &name);
        (void)close(source);
        if (dir < 0)
                return;
        if (own_name(own, name) == 0)
                remove_own(dir, own);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && protect_is_placeholder(&st))
                (void)unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
        (void)close(dir);
}
