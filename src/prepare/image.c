/*
 * prepare/image.c - finds a host directory whose disk can hold a sandbox's image.
 *
 * Room: prepare (joining). Touches: fd; reads three directories, /dev/loop-control and
 * /proc/filesystems.
 * Theory: a cause that is known in advance is reported here, in words. The maker reports causes
 * that only the attempt shows (no free loop device, a container without device nodes).
 */
#include "prepare/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/floor.h"
#include "base/scoped.h"
#include "plan/disk.h"

enum { LIST_ROOM = 4096, SPARE_MB = 64 }; /* free space beside the image: twice the floor */

static bool
has_ext4(void)
{
        char text[LIST_ROOM];
        scoped_fd int fd = open("/proc/filesystems", O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

        text[len > 0 ? len : 0] = '\0';
        return strstr(text, "\text4\n") != NULL;
}

static int
open_directory(const struct prepare_host *host, const char **ret_path)
{
        const char *const places[] = { host->volumes, "/var/lib/carrel", "/var/tmp" };
        int fd = -1;

        for (size_t i = host->volumes ? 0 : 1; i < sizeof places / sizeof *places && fd < 0; i++) {
                fd = open(places[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                *ret_path = places[i];
        }
        return fd;
}

const char *
image_judge_disk(struct arena *arena, int fd, const char *path, uint64_t mb)
{
        struct statvfs room;
        struct statfs fs;

        if (fstatfs(fd, &fs) < 0 || fstatvfs(fd, &room) < 0)
                return arena_format(arena, "%s cannot be looked at: %s", path, strerror(errno));
        if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
                return arena_format(arena, "%s is memory itself (tmpfs)", path);
        if (mb > 0 && (uint64_t)room.f_bavail * room.f_frsize >> 20 < mb + SPARE_MB)
                return arena_format(arena,
                                    "%s has %" PRIu64 " MiB free, and %" PRIu64 " are needed", path,
                                    (uint64_t)room.f_bavail * room.f_frsize >> 20, mb + SPARE_MB);
        return floor_is_passed(&room, SPARE_MB)
                       ? arena_format(arena, "the disk of %s is nearly full", path)
                       : NULL;
}

const char *
image_find(struct arena *arena, const struct prepare_host *host, uint64_t mb,
           struct sources *sources)
{
        const char *path = NULL, *why;
        scoped_fd int fd = -1;
        struct stat st;

        if (!host->facts.is_privileged)
                return "only root can mount one";
        if (mb > PLAN_IMAGE_MB_MAX)
                return "it holds 4 TiB at most";
        if (access("/dev/loop-control", F_OK) < 0)
                return "this machine has no loop devices (/dev/loop-control)";
        if (!has_ext4())
                return "the kernel has no ext4 (modprobe ext4)";
        if (sources->count == SOURCES_MAX)
                return "there are too many mounts beside it";
        fd = open_directory(host, &path);
        if (fd < 0 || fstat(fd, &st) < 0)
                return "neither /var/lib/carrel nor /var/tmp can be opened";
        why = image_judge_disk(arena, fd, path, mb);
        if (!why)
                sources_add_image(sources, fd_take(&fd),
                                  &(struct plan_source){ .host_path = path,
                                                         .device = st.st_dev,
                                                         .inode = st.st_ino,
                                                         .is_directory = true });
        return why;
}
