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
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker/group.h"
#include "maker/placeholder.h"

static _Alignas(8) unsigned char abandoned[PLAN_PACK_MAX];

void
lease_undo(const struct plan_view *view)
{
        for (uint32_t i = view->step_count; i-- > 0;) {
                struct step s = plan_view_step(view, i);

                if (s.op == STEP_CGROUP_MAKE)
                        (void)group_remove(s.path);
                else if (s.op == STEP_PLACEHOLDER)
                        placeholder_remove(&s);
        }
}

static int
is_lease(const char *name)
{
        size_t len = strlen(name);

        return len > 6 && strcmp(name + len - 6, ".lease") == 0;
}

static void
collect_one(int dir, const char *name)
{
        int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct plan_view view;
        ssize_t len;

        if (fd < 0)
                return;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
                len = pread(fd, abandoned, sizeof abandoned, 0);
                if (len > 0 && plan_unpack(abandoned, (size_t)len, &view) == 0)
                        lease_undo(&view);
                (void)unlinkat(dir, name, 0);
        }
        (void)close(fd);
}

/* Opens a directory that must be ours alone. */
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
        DIR *list = fdopendir(dup(dir));
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

int
lease_open(const char *path, const void *plan, size_t len)
{
        const char *name;
        int dir = open_directory(path, &name);
        int fd, result;

        if (dir < 0)
                return dir;
        collect(dir);
        fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        result = fd < 0 ? -errno : 0;
        (void)close(dir);
        if (result == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
                result = -errno;
        if (result == 0)
                result = write_plan(fd, plan, len);
        if (result < 0 && fd >= 0)
                lease_close(path, fd);
        return result < 0 ? result : fd;
}

void
lease_close(const char *path, int fd)
{
        if (fd < 0)
                return;
        (void)unlink(path);
        (void)close(fd);
}
