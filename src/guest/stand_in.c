/*
 * guest/stand_in.c - calls of root that pid 1 does in its place.
 *
 * Room: guest (program). Touches: names of the box, memory and descriptors of the payload.
 * Theory: the path is read once, and pid 1 itself resolves it, from the caller's directory: what
 * the caller's memory holds afterwards changes nothing. Pid 1 has the user, the root, the domain
 * and the filter of the payload. It stands in only for processes that have the same ids and the
 * capability for such a call, so nobody gets a right here. A file is only made if it is new, so
 * opening it waits for nobody. Nothing in /proc is entered, but the caller's own descriptors.
 */
#include "guest/stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/ioctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"
#include "guest/path_walk.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SECCOMP_IOCTL_NOTIF_ADDFD /* Linux 5.9; musl's kernel headers may be older */
struct seccomp_notif_addfd {
        __u64 id;
        __u32 flags, srcfd, newfd, newfd_flags;
};
#define SECCOMP_IOCTL_NOTIF_ADDFD _IOW('!', 3, struct seccomp_notif_addfd)
#endif

enum { PROC_ROOM = 48, NAME_ROOM = 20, STATUS_ROOM = 4096, NOBODY_ID = -1, KEPT_BITS = 01777 };

enum act { SET_MODE, SET_OWNER, MAKE_DIRECTORY, MAKE_FILE };

/* Numbers of its arguments; -1: it has none. */
static const struct row {
        long number;
        enum act act;
        int dir, path, value, flags;
        int fixed; /* flags that it has always */
} rows[] = {
#ifdef SYS_chmod
        { SYS_chmod, SET_MODE, -1, 0, 1, -1, 0 },
        { SYS_mkdir, MAKE_DIRECTORY, -1, 0, 1, -1, 0 },
        { SYS_open, MAKE_FILE, -1, 0, 2, 1, 0 },
        { SYS_chown, SET_OWNER, -1, 0, 1, -1, 0 },
        { SYS_lchown, SET_OWNER, -1, 0, 1, -1, AT_SYMLINK_NOFOLLOW },
#endif
        { SYS_fchmod, SET_MODE, 0, -1, 1, -1, 0 },
        { SYS_fchmodat, SET_MODE, 0, 1, 2, -1, 0 },
        { SYS_fchmodat2, SET_MODE, 0, 1, 2, 3, 0 },
        { SYS_mkdirat, MAKE_DIRECTORY, 0, 1, 2, -1, 0 },
        { SYS_openat, MAKE_FILE, 0, 1, 3, 2, 0 },
        { SYS_fchown, SET_OWNER, 0, -1, 1, -1, 0 },
        { SYS_fchownat, SET_OWNER, 0, 1, 2, 4, 0 },
};

struct call {
        const struct row *row;
        const struct seccomp_notif *n;
        int listener;
        mode_t mask; /* the caller's umask */
        char path[FILE_PATH_MAX + 1];
};

static const struct row *
row_of(int number)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].number == number)
                        return &rows[i];
        return NULL;
}

static int
flags_of(const struct call *c)
{
        return c->row->fixed | (c->row->flags < 0 ? 0 : (int)c->n->data.args[c->row->flags]);
}

/* -- the caller -------------------------------------------------------------------------------- */

static int
open_of(const struct call *c, const char *name, int flags)
{
        char path[PROC_ROOM];
        int fd;

        (void)snprintf(path, sizeof path, "/proc/%u/%s", c->n->pid, name);
        fd = open(path, flags | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* The text behind the line's name in /proc/PID/status; "" if there is none. */
static const char *
line_of(const char *status, const char *name)
{
        const char *at = strstr(status, name);

        return at ? at + strlen(name) : "";
}

/* Its four uids are root, and it may change the files of all users of the sandbox. */
static int
check_caller(struct call *c)
{
        scoped_fd int fd = open_of(c, "status", O_RDONLY);
        char text[STATUS_ROOM];
        ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        uint64_t wanted = UINT64_C(1) << (c->row->act == SET_OWNER ? CAP_CHOWN : CAP_FOWNER);

        if (len < 0)
                return -EPERM;
        text[len] = '\0';
        c->mask = (mode_t)strtoul(line_of(text, "\nUmask:"), NULL, 8) & 0777;
        return strncmp(line_of(text, "\nUid:"), "\t0\t0\t0\t0\n", 9) == 0 &&
                               (strtoull(line_of(text, "\nCapEff:"), NULL, 16) & wanted) != 0
                       ? 0
                       : -EPERM;
}

static int
read_path(struct call *c)
{
        scoped_fd int fd = open_of(c, "mem", O_RDONLY);
        off_t at = (off_t)c->n->data.args[c->row->path];
        ssize_t len = fd < 0 ? -1 : pread(fd, c->path, sizeof c->path - 1, at);

        if (fd < 0)
                return -EPERM;
        if (len <= 0)
                return -EFAULT;
        c->path[len] = '\0';
        return memchr(c->path, '\0', (size_t)len) ? 0 : -ENAMETOOLONG;
}

/* The number in a path that is one of the caller's own descriptors; -1: it is another path. */
static int
own_descriptor(const char *path)
{
        static const char *const places[] = { "/proc/self/fd/", "/proc/thread-self/fd/",
                                              "/dev/fd/" };
        char *end;
        long number;

        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                const char *at = path + strlen(places[i]);

                if (strncmp(path, places[i], strlen(places[i])) != 0 || *at < '0' || *at > '9')
                        continue;
                number = strtol(at, &end, 10);
                return *end == '\0' && number <= INT32_MAX ? (int)number : -1;
        }
        return -1;
}

static int
open_descriptor(const struct call *c, int number)
{
        char name[NAME_ROOM];

        if (number < 0)
                return -EBADF;
        (void)snprintf(name, sizeof name, "fd/%d", number);
        number = open_of(c, name, O_PATH);
        return number == -ENOENT ? -EBADF : number;
}

/* -- what it names ----------------------------------------------------------------------------- */

static int
dir_of(const struct call *c)
{
        return c->row->dir < 0 ? AT_FDCWD : (int)c->n->data.args[c->row->dir];
}

static int
open_start(const struct call *c)
{
        int dir = dir_of(c);

        return c->path[0] == '/' ? open_of(c, "root", O_PATH)
               : dir == AT_FDCWD ? open_of(c, "cwd", O_PATH)
                                 : open_descriptor(c, dir);
}

/* Where the last name is, still the process that asked. */
static int
walk(const struct call *c, unsigned flags, struct path_walk *ret)
{
        scoped_fd int start = open_start(c);
        int sys;

        *ret = (struct path_walk){ .dir = -1 };
        sys = start < 0 ? -start : path_walk_open_at(start, c->path, flags, ret);
        if (sys == 0 &&
            syscall(SYS_ioctl, c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->n->id) < 0) {
                path_walk_fini(ret);
                sys = ESRCH;
        }
        return -sys;
}

/* The object itself, O_PATH. */
static int
open_target(struct call *c)
{
        int flags = flags_of(c), result = c->row->path < 0 ? 0 : read_path(c), fd;
        struct path_walk w;

        if (result < 0)
                return result;
        if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
                return -EINVAL;
        if (c->row->path < 0)
                return open_descriptor(c, dir_of(c));
        if (c->path[0] == '\0')
                return (flags & AT_EMPTY_PATH) == 0 ? -ENOENT
                       : dir_of(c) == AT_FDCWD      ? open_of(c, "cwd", O_PATH)
                                                    : open_descriptor(c, dir_of(c));
        if (own_descriptor(c->path) >= 0)
                return open_descriptor(c, own_descriptor(c->path));
        result = walk(c, (flags & AT_SYMLINK_NOFOLLOW) != 0 ? 0 : PATH_WALK_FOLLOW, &w);
        if (result < 0)
                return result;
        fd = openat(w.dir, w.name,
                    O_PATH | O_NOFOLLOW | O_CLOEXEC | (w.wants_directory ? O_DIRECTORY : 0));
        result = fd < 0 ? -errno : fd;
        path_walk_fini(&w);
        return result;
}

/* -- the call ---------------------------------------------------------------------------------- */

static int
set_mode(int target, mode_t mode)
{
        char path[PROC_ROOM];
        struct stat st;

        if (fstat(target, &st) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return -EOPNOTSUPP;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", target);
        return chmod(path, mode) < 0 ? -errno : 0;
}

/* An id that does not exist here is as good as none. */
static uint32_t
id_of(const struct call *c, int argument)
{
        uint32_t id = (uint32_t)c->n->data.args[argument];

        return id == 0 ? 0 : (uint32_t)NOBODY_ID;
}

static int
change(struct call *c)
{
        scoped_fd int target = open_target(c);

        if (target < 0)
                return target;
        if (path_walk_is_proc(target))
                return -EPERM;
        if (c->row->act == SET_MODE)
                return set_mode(target, (mode_t)c->n->data.args[c->row->value] & KEPT_BITS);
        return fchownat(target, "", id_of(c, c->row->value), id_of(c, c->row->value + 1),
                        AT_EMPTY_PATH) < 0
                       ? -errno
                       : 0;
}

/* Gives the caller what was opened. */
static int
hand_over(const struct call *c, int fd)
{
        struct seccomp_notif_addfd add = {
                .id = c->n->id,
                .srcfd = (uint32_t)fd,
                .newfd_flags = (uint32_t)(flags_of(c) & O_CLOEXEC),
        };
        long number = syscall(SYS_ioctl, c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

        return number < 0 ? -errno : (int)number;
}

static int
make_in(const struct call *c, const struct path_walk *w, mode_t mode)
{
        scoped_fd int fd = -1;

        if (c->row->act == MAKE_DIRECTORY)
                return mkdirat(w->dir, w->name, mode) < 0 ? -errno : 0;
        if (w->wants_directory)
                return -EISDIR;
        fd = openat(w->dir, w->name, flags_of(c) | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, mode);
        return fd < 0 ? -errno : hand_over(c, fd);
}

static int
make(struct call *c)
{
        mode_t own = umask(0);
        int result = read_path(c);
        struct path_walk w;

        if (result == 0)
                result = walk(c, 0, &w);
        if (result == 0) {
                (void)umask(c->mask);
                result = make_in(c, &w, (mode_t)c->n->data.args[c->row->value] & KEPT_BITS);
                path_walk_fini(&w);
        }
        (void)umask(own);
        return result;
}

void
stand_in(int listener, const struct seccomp_notif *n, struct seccomp_notif_resp *answer)
{
        static struct call c;
        int result;

        c.row = row_of(n->data.nr);
        c.n = n;
        c.listener = listener;
        result = c.row ? check_caller(&c) : -EPERM;
        if (result == 0)
                result = c.row->act == SET_MODE || c.row->act == SET_OWNER ? change(&c) : make(&c);
        answer->error = result < 0 ? result : 0;
        answer->val = result < 0 ? 0 : result;
}
