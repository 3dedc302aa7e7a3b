/*
 * guest/path_walk.c - resolves a path to the directory that holds its last name.
 *
 * Room: guest (program). Touches: names of the box.
 * Theory: each directory stays open while the next name is looked up in it, without following
 * links. A link is read, and its text is put in front of the rest. So a name that is replaced
 * meanwhile leads only where the payload's own open could have led.
 */
#include "guest/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct walk {
        int dir;
        unsigned flags, links;
        const char *at; /* the remaining path, in `rest` */
        char rest[FILE_PATH_MAX + 1];
};

int
path_walk_is_proc(int fd)
{
        struct statfs fs;

        return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

static int
enter(struct walk *w, int dir)
{
        if (dir < 0)
                return errno;
        if (w->dir >= 0)
                (void)close(w->dir);
        w->dir = dir;
        return path_walk_is_proc(dir) ? EACCES : 0;
}

/* Puts a link's text in front of the remaining path. */
static int
follow(struct walk *w, const char *text, size_t len)
{
        char target[FILE_PATH_MAX + 1];
        size_t left = strlen(w->at);

        if (++w->links > PATH_WALK_LINKS_MAX)
                return ELOOP;
        if (len == 0)
                return ENOENT;
        if (len + left > FILE_PATH_MAX)
                return ENAMETOOLONG;
        memcpy(target, text, len);
        memcpy(target + len, w->at, left + 1);
        memcpy(w->rest, target, len + left + 1);
        w->at = w->rest;
        return w->rest[0] == '/' ? enter(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

/* 0: it was a link, and is followed; EINVAL: it is not a link; otherwise an errno value. */
static int
try_link(struct walk *w, int dir, const char *name)
{
        char text[FILE_PATH_MAX + 1];
        ssize_t len = readlinkat(dir, name, text, sizeof text);

        if (len < 0)
                return errno;
        return len > FILE_PATH_MAX ? ENAMETOOLONG : follow(w, text, (size_t)len);
}

static int
open_piece(const struct walk *w, const char *name)
{
        int fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0 || errno != ENOENT || (w->flags & PATH_WALK_MAKE) == 0)
                return fd;
        if (mkdirat(w->dir, name, 0755) < 0 && errno != EEXIST)
                return -1;
        return openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* One name in the middle of a path. */
static int
step(struct walk *w, const char *name)
{
        int fd = open_piece(w, name);
        struct stat st;
        int result;

        if (fd < 0)
                return errno;
        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
                return enter(w, fd);
        result = !S_ISLNK(st.st_mode)    ? ENOTDIR
                 : path_walk_is_proc(fd) ? EACCES
                                         : try_link(w, fd, "");
        (void)close(fd);
        return result;
}

/* Takes off the next name. 1: it is the last; slashes after it remain. */
static int
take_name(struct walk *w, char name[PATH_WALK_NAME_MAX + 1], int *ret_sys)
{
        size_t len;

        w->at += strspn(w->at, "/");
        len = strcspn(w->at, "/");
        *ret_sys = len > PATH_WALK_NAME_MAX ? ENAMETOOLONG : 0;
        if (*ret_sys != 0)
                return 0;
        memcpy(name, len > 0 ? w->at : ".", len > 0 ? len : 1);
        name[len > 0 ? len : 1] = '\0';
        w->at += len;
        return w->at[strspn(w->at, "/")] == '\0';
}

static int
walk(struct walk *w, struct path_walk *ret)
{
        int sys = 0;

        while (sys == 0) {
                int is_last = take_name(w, ret->name, &sys);

                if (sys != 0)
                        break;
                if (!is_last) {
                        sys = step(w, ret->name);
                        continue;
                }
                ret->wants_directory = *w->at == '/' || ret->wants_directory;
                if ((w->flags & PATH_WALK_FOLLOW) == 0 && !ret->wants_directory)
                        return 0;
                sys = try_link(w, w->dir, ret->name);
                if (sys == EINVAL || sys == ENOENT) /* not a link, or does not exist */
                        return 0;
        }
        return sys;
}

int
path_walk_open(const char *path, unsigned flags, struct path_walk *ret)
{
        return path_walk_open_at(AT_FDCWD, path, flags, ret);
}

int
path_walk_open_at(int start, const char *path, unsigned flags, struct path_walk *ret)
{
        struct walk w = { .dir = -1, .flags = flags };
        size_t len = strlen(path);
        int sys;

        ret->wants_directory = 0;
        ret->dir = -1;
        if (len == 0 || len > FILE_PATH_MAX)
                return len == 0 ? ENOENT : ENAMETOOLONG;
        memcpy(w.rest, path, len + 1);
        w.at = w.rest;
        sys = enter(&w,
                    openat(start, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (sys == 0)
                sys = walk(&w, ret);
        if (sys != 0 && w.dir >= 0)
                (void)close(w.dir);
        else if (sys == 0)
                ret->dir = w.dir;
        return sys;
}

void
path_walk_fini(struct path_walk *w)
{
        if (w->dir >= 0)
                (void)close(w->dir);
        w->dir = -1;
}
