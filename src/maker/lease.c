/*
 * maker/lease.c - records what outlives a killed runtime, so that the next start can collect it.
 *
 * Room: maker (program). Touches: fd, files in the runtime directory, groups, private directories.
 *
 *     absent --open--> locked by its maker --close--> absent
 *                          | maker killed
 *                          v
 *                      unlocked --another start, or the keeper that notices: undo its plan-->
 * absent
 *
 * Theory: a start costs the same however many sandboxes live. So `carrel run` looks at a few leases
 * only, and a maker of the daemon at none. The daemon looks at all of them at its start and after a
 * sandbox was lost.
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

#include "base/sample.h"
#include "maker/container.h"
#include "maker/group.h"
#include "maker/watched.h"
#include "volume/place.h"
#include "volume/volume.h"

enum { LEASE_LOOK = 16, NAME_ROOM = 64 };

static _Alignas(8) unsigned char abandoned[PLAN_PACK_MAX];

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

/*
 * The directory of the private directories, if an abandoned plan had one. It is swept after all
 * locks of leases are released, because that can take long.
 */
static char private_place[4096];

static void
remember_private(const struct plan_view *view)
{
        for (uint32_t i = 0; i < view->step_count; i++)
                if (view->steps[i].op == STEP_WATCHED)
                        (void)snprintf(private_place, sizeof private_place, "%s",
                                       plan_view_step(view, i).path);
}

static void
sweep_private(uint64_t budget)
{
        struct volume_sweep sweep;

        if (private_place[0] != '/')
                return;
        volume_sweep_init(&sweep);
        (void)volume_sweep(&sweep, private_place, budget);
        volume_sweep_fini(&sweep);
        private_place[0] = '\0';
}

static void
undo_groups(const struct plan_view *view)
{
        for (uint32_t i = view->step_count; i-- > 0;)
                if (view->steps[i].op == STEP_CGROUP_MAKE)
                        (void)group_remove(plan_view_step(view, i).path);
        for (uint32_t i = 0; i < view->step_count; i++) /* its container is dead now */
                if (view->steps[i].op == STEP_RUNTIME)
                        container_remove(plan_view_step(view, i).path);
}

/* -- leases ------------------------------------------------------------------------------------ */

static void
collect_one(int dir, const char *name)
{
        int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        struct plan_view view;
        struct stat st;

        if (fd < 0)
                return;
        /* If the file has no name by now, its maker has undone it, and a file with that name is
         * a newer one. */
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
                if (read_plan(fd, abandoned, &view) == 0) {
                        undo_groups(&view);
                        remember_private(&view);
                }
                (void)unlinkat(dir, name, 0);
        }
        (void)close(fd);
}

/* Opens a directory that must belong to us alone, and locks it until it is closed. */
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

/* Opens the directory of `path`; creates it if missing. */
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
collect_all(int dir)
{
        DIR *list = place_entries(dir);
        struct dirent *entry;

        while (list && (entry = readdir(list)) != NULL)
                if (is_lease(entry->d_name))
                        collect_one(dir, entry->d_name);
        if (list)
                (void)closedir(list);
}

/*
 * Any few of them: later starts find the others, and each start costs the same however many live.
 */
static void
collect_some(int dir)
{
        static char names[LEASE_LOOK][NAME_ROOM];
        DIR *list = place_entries(dir);
        uint64_t state = sample_begin();
        struct dirent *entry;
        size_t seen = 0;

        while (list && (entry = readdir(list)) != NULL) {
                size_t place = is_lease(entry->d_name) && strlen(entry->d_name) < NAME_ROOM
                                       ? sample_place(seen++, LEASE_LOOK, &state)
                                       : LEASE_LOOK;

                if (place < LEASE_LOOK)
                        memcpy(names[place], entry->d_name, strlen(entry->d_name) + 1);
        }
        for (size_t i = 0; i < seen && i < LEASE_LOOK; i++)
                collect_one(dir, names[i]);
        if (list)
                (void)closedir(list);
}

int
lease_collect(const char *directory)
{
        int dir = open_own(directory);

        if (dir < 0)
                return dir;
        collect_all(dir);
        (void)close(dir);
        sweep_private(UINT64_MAX);
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

/*
 * Fallback for file systems without unnamed files: for a moment the lease has a name and no lock.
 */
static int
open_named(int dir, const char *name, const void *plan, size_t len)
{
        int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int result;

        if (fd < 0)
                return -errno;
        /* A process that looks for abandoned leases holds this lock only briefly. */
        result = flock(fd, LOCK_EX) < 0 ? -errno : write_plan(fd, plan, len);
        if (result == 0)
                return fd;
        (void)unlinkat(dir, name, 0);
        (void)close(fd);
        return result;
}

/*
 * The file gets its name last, so that no process can see it unlocked or half written and take it
 * for abandoned.
 */
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
lease_open(const char *path, const void *plan, size_t len, bool looks)
{
        const char *name;
        int dir = open_directory(path, &name);
        int fd;

        if (dir < 0)
                return dir;
        if (looks)
                collect_some(dir);
        fd = open_nameless(dir, name, plan, len);
        if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -ENOENT)
                fd = open_named(dir, name, plan, len);
        (void)close(dir);
        sweep_private(WATCHED_SWEEP);
        return fd;
}

void
lease_undo(const struct plan_view *view)
{
        undo_groups(view);
}

void
lease_close(const char *path, int fd)
{
        if (fd < 0)
                return;
        (void)unlink(path);
        (void)close(fd);
}
