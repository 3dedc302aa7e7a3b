/*
 * maker/rootfs.c - the layers of an image as one root.
 *
 * Room: maker (program). Touches: mounts, directories below those that it is given.
 */
#include "maker/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker/kernel.h"

enum { OVERLAY_ROOM = 3968 /* with the rest of its options below a page */ };

static int
make_inside(int dir, const char *name)
{
        int fd = mkdirat(dir, name, 0755) < 0 && errno != EEXIST
                         ? -1
                         : openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* The kernel takes layers only from mounts of this namespace, so each gets a place. */
int
rootfs_attach(int scratch, size_t number, int tree)
{
        const struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                                                     MOUNT_ATTR_NODEV };
        int place = make_inside(scratch, "layers"), result;
        char name[24];

        if (place < 0)
                return place;
        (void)snprintf(name, sizeof name, "%zu", number);
        result = mkdirat(place, name, 0) < 0 ? -errno : kernel_mount_setattr(tree, 0, &attr);
        if (result == 0)
                result = kernel_move_mount(tree, place, name);
        (void)close(place);
        return result;
}

static int
write_lower(const int *lower, size_t count, char *out, size_t room)
{
        size_t used = 0;

        for (size_t i = count; i-- > 0 && used < room;)
                used += (size_t)snprintf(out + used, room - used, "%s/proc/self/fd/%d",
                                         used > 0 ? ":" : "", lower[i]);
        return used < room ? 0 : -E2BIG;
}

/*
 * All options in one page, as mount(2) takes them: fsconfig(2) cuts a text at 256 bytes. userxattr
 * also leaves redirects and metadata copies off. What is not synced needs no sync: it goes with the
 * sandbox.
 */
static int
mount_overlay(int workshop, const char *lower, int upper, int work)
{
        char options[OVERLAY_ROOM + 128], at[48];
        int target = openat(workshop, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), result = 0;

        if (target < 0)
                return -errno;
        (void)snprintf(at, sizeof at, "/proc/self/fd/%d", target);
        (void)snprintf(options, sizeof options,
                       "lowerdir=%s,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,"
                       "userxattr,volatile",
                       lower, upper, work);
        if (mount("overlay", at, "overlay", MS_NOSUID | MS_NODEV, options) < 0)
                result = -errno;
        (void)close(target);
        return result;
}

int
rootfs_mount(int workshop, int from, const int *lower, size_t count, int *ret_upper)
{
        char layers[OVERLAY_ROOM];
        int upper = make_inside(from, "upper"), work = make_inside(from, "work"), root = -1;
        int result = upper < 0  ? upper
                     : work < 0 ? work
                                : write_lower(lower, count, layers, sizeof layers);

        *ret_upper = -1;
        if (result == 0)
                result = mount_overlay(workshop, layers, upper, work);
        if (work >= 0)
                (void)close(work);
        if (result == 0 && (root = openat(workshop, "root", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
                result = -errno;
        if (result == 0)
                *ret_upper = upper;
        else if (upper >= 0)
                (void)close(upper);
        return result < 0 ? result : root;
}
