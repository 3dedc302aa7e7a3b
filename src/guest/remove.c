/*
 * guest/remove.c - removes a name, and everything below it.
 *
 * Room: guest (program). Touches: names of the box, fd.
 * Theory: one descriptor is open, for a tree of any depth. The walk goes down by name without
 * following links, and up by ".."; it checks that the parent is the directory it came from. An
 * emptied directory is read again, so no further state is needed. Each call costs time in
 * proportion to the depth of its directory, because Landlock checks every parent. So a directory
 * below a certain depth is first moved to the top of the tree, if that is possible. A process
 * inside may create names as fast as they are removed, so the number of reads is limited.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/files_parts.h"
#include "guest/path_walk.h"

enum { DEPTH_MAX = 16384, SHALLOW = 64, LIST_LEN = 32 * 1024 };
enum {
        LOOKS_AGAIN = 64 /* reads of one directory that was empty a moment ago */,
        LOOKS_MAX = 4 << 20 /* in all; a directory takes two, and one for each directory in it */
};

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

struct here {
        dev_t device;
        ino_t inode;
};

/* Only the levels of the tree are touched. */
static struct here above[DEPTH_MAX];
static unsigned looks, moved; /* of this removal */
static _Alignas(8) char list[LIST_LEN];

/* Moves *fd to another directory; *ret identifies it. */
static int
move_to(int *fd, const char *name, struct here *ret)
{
        int next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;

        if (next < 0)
                return errno;
        (void)close(*fd);
        *fd = next;
        if (fstat(next, &st) < 0)
                return errno;
        *ret = (struct here){ st.st_dev, st.st_ino };
        return path_walk_is_proc(next) ? EACCES : 0;
}

/* Removes one name. ENOTEMPTY: it is a directory with content. */
static int
remove_name(int dir, const char *name)
{
        if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR && errno != EPERM)
                return errno;
        if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                return 0;
        return errno == EEXIST ? ENOTEMPTY : errno == ENOTDIR ? EPERM : errno;
}

/*
 * Removes what can be removed at once. 0: the directory is empty; ENOTEMPTY: *ret is a directory to
 * empty first; otherwise an errno value.
 */
static int
clear(int dir, const char **ret)
{
        for (unsigned again = 0;; again++) {
                long len, at = 0;
                unsigned removed = 0;

                if (again > LOOKS_AGAIN || ++looks > LOOKS_MAX)
                        return EBUSY;
                if (lseek(dir, 0, SEEK_SET) < 0)
                        return errno;
                while ((len = files_dirents(dir, list, sizeof list)) > 0)
                        for (at = 0; at < len;) {
                                const struct files_dirent *e = (const void *)(list + at);
                                int sys;

                                at += e->len;
                                if (files_is_dots(e->name))
                                        continue;
                                *ret = e->name;
                                sys = remove_name(dir, e->name);
                                if (sys != 0)
                                        return sys;
                                removed++;
                        }
                if (len < 0)
                        return (int)-len;
                if (removed == 0) /* a complete read found nothing */
                        return 0;
        }
}

static int
go_down(int *fd, const char *name, unsigned *depth, struct here *here)
{
        int sys;

        if (*depth == DEPTH_MAX)
                return ENAMETOOLONG;
        above[*depth] = *here;
        sys = move_to(fd, name, here);
        if (sys == ENOENT || sys == ENOTDIR || sys == ELOOP)
                /* removed or replaced meanwhile: *fd has not moved, so read again */
                return 0;
        *depth += sys == 0;
        return sys;
}

static int
go_up(int *fd, unsigned *depth, struct here *here)
{
        struct here was = above[--*depth];
        int sys = move_to(fd, "..", here);

        if (sys == 0 && (here->device != was.device || here->inode != was.inode))
                return ESTALE; /* the current directory was moved */
        return sys;
}

/*
 * Moves the name to the top of the tree, under an unused name. If it is on another mount, or may
 * not be moved, it stays, and the walk goes down to it.
 */
static int
move_up(int dir, const char *name, int top)
{
        char to[32];
        int result;

        do {
                (void)snprintf(to, sizeof to, ".removed-%u", moved++);
                result = (int)syscall(SYS_renameat2, dir, name, top, to, RENAME_NOREPLACE);
        } while (result < 0 && errno == EEXIST && moved < LOOKS_MAX);
        return result == 0;
}

static int
remove_below(int *fd, struct here *here, int top)
{
        unsigned depth = 0;

        looks = moved = 0;
        for (;;) {
                const char *name = "";
                int sys = clear(*fd, &name);

                if (sys == ENOTEMPTY && depth >= SHALLOW && move_up(*fd, name, top))
                        continue;
                if (sys == ENOTEMPTY)
                        sys = go_down(fd, name, &depth, here);
                else if (sys == 0 && depth == 0)
                        return 0;
                else if (sys == 0)
                        sys = go_up(fd, &depth, here);
                if (sys != 0)
                        return sys;
        }
}

static int
empty(const struct path_walk *w)
{
        struct here here;
        int fd = openat(w->dir, ".", O_PATH | O_CLOEXEC), top = -1;
        int sys;

        if (fd < 0)
                return errno;
        sys = move_to(&fd, w->name, &here);
        if (sys == 0 && (top = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
                sys = errno;
        if (sys == 0)
                sys = remove_below(&fd, &here, top);
        if (top >= 0)
                (void)close(top);
        (void)close(fd);
        if (sys == 0 && unlinkat(w->dir, w->name, AT_REMOVEDIR) < 0)
                sys = errno;
        return sys;
}

static int
remove_at(const struct path_walk *w, int is_recursive)
{
        struct stat st;

        if (fstatat(w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno;
        if (files_is_dots(w->name))
                return EINVAL;
        if (!S_ISDIR(st.st_mode))
                return w->wants_directory ? ENOTDIR : unlinkat(w->dir, w->name, 0) < 0 ? errno : 0;
        if (unlinkat(w->dir, w->name, AT_REMOVEDIR) == 0)
                return 0;
        if (!is_recursive || (errno != ENOTEMPTY && errno != EEXIST))
                return errno == EEXIST ? ENOTEMPTY : errno;
        return empty(w);
}

int
files_remove(char *const *argv, struct files_io *io)
{
        uint64_t is_recursive;
        struct path_walk w;
        int sys;

        if (files_number(argv[2], 1, &is_recursive) != 0)
                return EINVAL;
        sys = path_walk_open(argv[1], 0, &w);
        if (sys != 0)
                return sys;
        sys = remove_at(&w, is_recursive != 0);
        path_walk_fini(&w);
        return sys;
}
