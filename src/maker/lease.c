/*
 * maker/lease.c - what outlives a killed runtime, and how the next start collects it.
 *
 * Room: maker (program). Touches: fd, files in the runtime directory, groups, placeholders.
 *
 *     absent --open--> locked by its maker --close--> absent
 *                          | maker killed
 *                          v
 *                      unlocked --another start: undo the plan in it--> absent
 */
#include "maker/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker/group.h"
#include "maker/placeholder.h"

static _Alignas(8) unsigned char abandoned[PLAN_PACK_MAX], neighbour[PLAN_PACK_MAX];
static unsigned char is_shared[PLAN_STEPS_MAX];

static int
is_lease(const char *name)
{
        size_t len = strlen(name);

        return len > 6 && strcmp(name + len - 6, ".lease") == 0;
}

static int
read_plan(int fd, unsigned char *bytes, struct plan_view *ret)
{
        ssize_t len = pread(fd, bytes, PLAN_PACK_MAX, 0);

        return len > 0 ? plan_unpack(bytes, (size_t)len, ret) : -1;
}

/* -- placeholders that somebody else needs too ---------------------------------------------------------------- */

static void
share_with(const struct plan_view *view, const struct plan_view *other)
{
        for (uint32_t o = 0; o < other->step_count; o++) {
                struct step theirs = plan_view_step(other, o);

                for (uint32_t i = 0; theirs.op == STEP_PLACEHOLDER && i < view->step_count; i++) {
                        struct step ours = plan_view_step(view, i);

                        if (ours.op == STEP_PLACEHOLDER && strcmp(ours.path, theirs.path) == 0 && strcmp(ours.text, theirs.text) == 0)
                                is_shared[i] = 1;
                }
        }
}

/* A name that is gone from the host is no longer held inside either, so the last sandbox of a directory clears it. */
static void
look_around(int dir, const char *mine, const struct plan_view *view)
{
        DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct dirent *entry;

        memset(is_shared, list ? 0 : 1, sizeof is_shared);
        while (list && (entry = readdir(list)) != NULL) {
                struct plan_view other;
                int fd;

                if (!is_lease(entry->d_name) || strcmp(entry->d_name, mine) == 0)
                        continue;
                fd = openat(dir, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
                if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && read_plan(fd, neighbour, &other) == 0)
                        share_with(view, &other);
                if (fd >= 0)
                        (void)close(fd);
        }
        if (list)
                (void)closedir(list);
}

static int
has_placeholders(const struct plan_view *view)
{
        for (uint32_t i = 0; i < view->step_count; i++)
                if (view->steps[i].op == STEP_PLACEHOLDER)
                        return 1;
        return 0;
}

/* The directory is locked: nobody can begin to need a placeholder between the look and the removal. Without one nobody is asked. */
static void
undo_placeholders(int dir, const char *mine, const struct plan_view *view)
{
        if (!has_placeholders(view))
                return;
        if (dir >= 0)
                look_around(dir, mine, view);
        else
                memset(is_shared, 0, sizeof is_shared);
        for (uint32_t i = view->step_count; i-- > 0;) {
                struct step s = plan_view_step(view, i);

                if (s.op == STEP_PLACEHOLDER && !is_shared[i])
                        placeholder_remove(&s);
        }
}

static void
undo_groups(const struct plan_view *view)
{
        for (uint32_t i = view->step_count; i-- > 0;)
                if (view->steps[i].op == STEP_CGROUP_MAKE)
                        (void)group_remove(plan_view_step(view, i).path);
}

/* -- leases --------------------------------------------------------------------------------------------------- */

static void
collect_one(int dir, const char *name)
{
        int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct plan_view view;
        struct stat st;

        if (fd < 0)
                return;
        /* Without a name by now, its maker has undone it, and what stands there since is somebody else's. */
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
                if (read_plan(fd, abandoned, &view) == 0) {
                        undo_groups(&view);
                        undo_placeholders(dir, name, &view);
                }
                (void)unlinkat(dir, name, 0);
        }
        (void)close(fd);
}

/* Opens a directory that must be ours alone, and locks it until it is closed. */
static int
open_own(const char *directory)
{
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return -errno;
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

/* Opens the directory of `path`; makes it where it is missing. */
static int
open_directory(const char *path, const char **ret_name)
{
        char directory[4096];
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;

        if (len == 0 || len >= sizeof directory)
                return -EINVAL;
        memcpy(directory, path, len);
        directory[len] = '\0';
        *ret_name = slash + 1;
        (void)mkdir(directory, 0700);
        return open_own(directory);
}

static void
collect(int dir)
{
        DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct dirent *entry;

        if (!list)
                return;
        while ((entry = readdir(list)) != NULL)
                if (is_lease(entry->d_name))
                        collect_one(dir, entry->d_name);
        (void)closedir(list);
}

int
lease_collect(const char *directory)
{
        int dir = open_own(directory);

        if (dir < 0)
                return dir;
        collect(dir);
        (void)close(dir);
        return 0;
}

static int
write_plan(int fd, const void *plan, size_t len)
{
        const char *at = plan;

        while (len > 0) {
                ssize_t written = write(fd, at, len);

                if (written < 0)
                        return -errno;
                at += written;
                len -= (size_t)written;
        }
        return 0;
}

/* The old way, for file systems without nameless files: for a moment the lease has a name and no lock. */
static int
open_named(int dir, const char *name, const void *plan, size_t len)
{
        int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int result;

        if (fd < 0)
                return -errno;
        /* Whoever looks for abandoned leases holds it for an instant only. */
        result = flock(fd, LOCK_EX) < 0 ? -errno : write_plan(fd, plan, len);
        if (result == 0)
                return fd;
        (void)unlinkat(dir, name, 0);
        (void)close(fd);
        return result;
}

/* Gets its name last, so that nobody can see it unlocked or half written and take it for abandoned. */
static int
open_nameless(int dir, const char *name, const void *plan, size_t len)
{
        int fd = openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
        char link[32];
        int result;

        if (fd < 0)
                return -errno;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        result = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : write_plan(fd, plan, len);
        if (result == 0 && linkat(AT_FDCWD, link, dir, name, AT_SYMLINK_FOLLOW) < 0)
                result = -errno;
        if (result == 0)
                return fd;
        (void)close(fd);
        return result;
}

int
lease_open(const char *path, const void *plan, size_t len)
{
        const char *name;
        int dir = open_directory(path, &name);
        int fd;

        if (dir < 0)
                return dir;
        collect(dir);
        fd = open_nameless(dir, name, plan, len);
        if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -ENOENT)
                fd = open_named(dir, name, plan, len);
        (void)close(dir);
        return fd;
}

void
lease_undo(const struct plan_view *view, const char *path)
{
        const char *name = "";
        int dir = -1;

        undo_groups(view);
        if (!has_placeholders(view))
                return;
        if (path && (dir = open_directory(path, &name)) < 0)
                return;                        /* the neighbours cannot be asked: what they may need stays */
        undo_placeholders(dir, name, view);
        if (dir >= 0)
                (void)close(dir);
}

void
lease_close(const char *path, int fd)
{
        if (fd < 0)
                return;
        (void)unlink(path);
        (void)close(fd);
}
