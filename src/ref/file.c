/*
 * ref/file.c - reading one file that somebody named.
 *
 * Room: ref (acting). Touches: fd.
 * Knows nothing of what is in a file: it reads bytes, and the keeper may link it without a parser.
 * Theory: looked at before it is opened (opening a device can do something), looked at again by its
 * descriptor (the name may have changed hands), read to a bound and one byte more. R1: nothing
 * below a workspace's directory is reached by a name that leaves it.
 */
#include "ref/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"

enum {
        OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
        TRIES_MAX = 16,
        FIRST_ROOM = 8192
};

static int
unreadable(struct error *e, int sys, const char *path)
{
        const char *reason = sys == ENOENT || sys == ENOTDIR ? "not_found"
                             : sys == EACCES || sys == EPERM ? "permission"
                             : sys == EAGAIN                 ? "busy"
                                                             : "io";

        if (sys == EAGAIN) { /* we open without waiting: the only file that answers so is one with a
                                lease (F_SETLEASE) */
                (void)fail(e, ERROR_FILE_UNREADABLE, "another program holds a lease on \"%.200s\"",
                           path);
                error_hint(e, "Find the program that holds it (grep LEASE /proc/locks), or try "
                              "again when it has ended.");
        } else {
                (void)fail_sys(e, ERROR_FILE_UNREADABLE, sys, "\"%.200s\" cannot be read", path);
        }
        (void)snprintf(e->reason, sizeof e->reason, "%s", reason);
        return -1;
}

static int
not_regular(struct error *e, mode_t mode, const char *path)
{
        const char *what = S_ISDIR(mode)    ? "a directory"
                           : S_ISFIFO(mode) ? "a pipe"
                           : S_ISSOCK(mode) ? "a socket"
                                            : "a device";

        (void)fail(e, ERROR_FILE_UNREADABLE, "\"%.200s\" is %s, not a file", path, what);
        (void)snprintf(e->reason, sizeof e->reason, "not_regular");
        return -1;
}

static int
too_large(struct error *e, const char *path, size_t max)
{
        (void)fail_at(e, ERROR_MANIFEST_SYNTAX, "", "too_large",
                      "\"%.200s\" is larger than %zu bytes", path, max);
        error_hint(e, "A manifest is a page of text; is this the file you meant?");
        return -1;
}

/* The bytes of `fd`, at most `room`; or -errno. */
static ssize_t
read_up_to(int fd, char *bytes, size_t room)
{
        size_t len = 0;
        ssize_t got;

        do {
                got = read(fd, bytes + len, room - len);
                if (got > 0)
                        len += (size_t)got;
        } while ((got > 0 && len < room) || (got < 0 && errno == EINTR));
        return got < 0 ? -errno : (ssize_t)len;
}

/*
 * Reads a descriptor whose file was found regular, until it ends: an empty-looking file has content
 * too. Most files fit into the first buffer, which costs no call of the kernel.
 */
static int
read_all(struct arena *arena, int fd, const char *path, size_t max, const char **ret_bytes,
         size_t *ret_len, struct error *e)
{
        static char first[FIRST_ROOM];
        size_t room = max < sizeof first ? max + 1 : sizeof first;
        ssize_t len = read_up_to(fd, first, room), more = 0;
        char *bytes = first;

        if (len == (ssize_t)room && room < max + 1) {
                bytes = malloc(max + 1);
                if (!bytes)
                        return fail(e, ERROR_NO_MEMORY, "no memory to read \"%.200s\"", path);
                memcpy(bytes, first, room);
                more = read_up_to(fd, bytes + room, max + 1 - room);
                len = more < 0 ? more : len + more;
        }
        if (len >= 0 && (size_t)len <= max)
                *ret_bytes = arena_copy(arena, bytes, (size_t)len);
        if (bytes != first)
                free(bytes);
        if (len < 0)
                return unreadable(e, (int)-len, path);
        if ((size_t)len > max)
                return too_large(e, path, max);
        if (!*ret_bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory to read \"%.200s\"", path);
        *ret_len = (size_t)len;
        return 0;
}

/* What was looked for and not found decided something too. */
static int
not_found(struct arena *arena, int dir, const char *path, struct ref_reads *reads, int sys,
          struct error *e)
{
        if (ref_reads_add(reads, arena, dir, path, -1, e) < 0)
                return -1;
        return unreadable(e, sys, path);
}

static int
read_checked(struct arena *arena, int dir, int fd, const char *path, size_t max,
             struct ref_reads *reads, const char **ret_bytes, size_t *ret_len, struct error *e)
{
        struct stat st;

        *ret_bytes = NULL;
        if (fstat(fd, &st) < 0)
                return unreadable(e, errno, path);
        if (!S_ISREG(st.st_mode))
                return not_regular(e, st.st_mode, path);
        if (st.st_size > 0 && (size_t)st.st_size > max)
                return too_large(e, path, max);
        if (ref_reads_add(reads, arena, dir, path, fd, e) < 0)
                return -1;
        return read_all(arena, fd, path, max, ret_bytes, ret_len, e);
}

/* Of the descriptor, since the name may change hands. */
static int
check_trusted(int fd, const char *path, struct error *e)
{
        struct stat st;

        if (fstat(fd, &st) < 0)
                return unreadable(e, errno, path);
        if ((st.st_uid == 0 || st.st_uid == geteuid()) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
                return 0;
        (void)fail_at(e, ERROR_FILE_UNREADABLE, "", "untrusted",
                      "\"%.200s\" is not used: others than you and root can change it", path);
        error_hint(e, "Make it yours and writable by you alone (chown, chmod go-w), or remove it.");
        return -1;
}

static int
read_named(struct arena *arena, const char *path, size_t max, struct ref_reads *reads,
           bool is_trusted, const char **ret_bytes, size_t *ret_len, struct error *e)
{
        scoped_fd int fd = -1;
        struct stat st;

        if (stat(path, &st) < 0)
                return errno == ENOENT ? not_found(arena, AT_FDCWD, path, reads, ENOENT, e)
                                       : unreadable(e, errno, path);
        if (!S_ISREG(st.st_mode))
                return not_regular(e, st.st_mode, path);
        fd = open(path, OPEN_FLAGS);
        if (fd < 0)
                return unreadable(e, errno, path);
        if (is_trusted && check_trusted(fd, path, e) < 0)
                return -1;
        return read_checked(arena, AT_FDCWD, fd, path, max, reads, ret_bytes, ret_len, e);
}

int
ref_file_read(struct arena *arena, const char *path, size_t max, struct ref_reads *reads,
              const char **ret_bytes, size_t *ret_len, struct error *e)
{
        return read_named(arena, path, max, reads, false, ret_bytes, ret_len, e);
}

int
ref_file_read_trusted(struct arena *arena, const char *path, size_t max, struct ref_reads *reads,
                      const char **ret_bytes, size_t *ret_len, struct error *e)
{
        return read_named(arena, path, max, reads, true, ret_bytes, ret_len, e);
}

/* -- beneath a directory ----------------------------------------------------------------------- */

/* Where openat2 is missing: one component after the other, no symbolic links, no "..". */
static int
walk_beneath(int dir, const char *path, int flags)
{
        scoped_fd int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
        const char *rest = path;

        while (at >= 0) {
                char name[256];
                size_t len;
                bool is_last;
                int next;

                rest += strspn(rest, "/");
                len = strcspn(rest, "/");
                if (len == 0 || len >= sizeof name) {
                        errno = len == 0 ? ENOENT : ENAMETOOLONG;
                        return -1;
                }
                memcpy(name, rest, len);
                name[len] = '\0';
                rest += len;
                is_last = rest[strspn(rest, "/")] == '\0';
                if (strcmp(name, "..") == 0) {
                        errno = EXDEV;
                        return -1;
                }
                next = openat(at, name,
                              is_last ? flags | O_NOFOLLOW
                                      : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (is_last || next < 0)
                        return next;
                (void)close(at);
                at = next;
        }
        return -1;
}

static int
open_beneath(int dir, const char *path, int flags)
{
        struct open_how how = { .flags = (unsigned)flags,
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
        long fd = -1;

        for (int i = 0; i < TRIES_MAX; i++) {
                fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
                if (fd >= 0 || errno != EAGAIN)
                        break;
        }
        if (fd < 0 && (errno == ENOSYS || errno == EPERM))
                return walk_beneath(dir, path, flags);
        return (int)fd;
}

static int
not_opened_beneath(struct error *e, int sys, const char *path)
{
        if (sys == EXDEV || sys == ELOOP || sys == EAGAIN)
                return fail_at(e, ERROR_REF_UNRESOLVABLE, "", "outside_workspace",
                               "\"%.200s\" leads out of the workspace, or through a symbolic link "
                               "that cannot be trusted",
                               path);
        return unreadable(e, sys, path);
}

int
ref_file_read_beneath(struct arena *arena, int dir, const char *path, size_t max,
                      struct ref_reads *reads, const char **ret_bytes, size_t *ret_len,
                      struct error *e)
{
        scoped_fd int look = open_beneath(dir, path, O_PATH | O_CLOEXEC);
        scoped_fd int fd = -1;
        struct stat st;

        if (look < 0)
                return errno == ENOENT ? not_found(arena, dir, path, reads, ENOENT, e)
                                       : not_opened_beneath(e, errno, path);
        if (fstat(look, &st) < 0)
                return unreadable(e, errno, path);
        if (S_ISLNK(st.st_mode)) /* only the walk answers with the link itself */
                return not_opened_beneath(e, ELOOP, path);
        if (!S_ISREG(st.st_mode))
                return not_regular(e, st.st_mode, path);
        fd = open_beneath(dir, path, OPEN_FLAGS);
        if (fd < 0 && errno == EAGAIN) /* the look did not say so: it is not the way that changes */
                return unreadable(e, EAGAIN, path);
        if (fd < 0)
                return not_opened_beneath(e, errno, path);
        return read_checked(arena, dir, fd, path, max, reads, ret_bytes, ret_len, e);
}
