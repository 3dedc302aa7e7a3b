/*
 * maker/image.c - a sandbox's private disk: a sized file system in a file without a name.
 *
 * Room: maker (program). Touches: fd, one nameless file, one loop device, one detached mount.
 * Theory: nothing here has a name that could stay behind. The file is made without one (O_TMPFILE), the loop device clears itself when its last
 * holder closes it (LO_FLAGS_AUTOCLEAR), and the mount is seen in no mount namespace but the box's. So a maker that is killed at any moment leaves
 * nothing, and a lease has nothing to undo. The file is sparse: it takes of the disk what the sandbox has written, and `mb` at most.
 * Measured (2 GiB, median of 200): file 0.1 ms, loop device 0.5 ms, mount 0.4 ms, closing 1.1 ms; ten times that and more on a machine whose processors are
 * all busy, since each waits for the kernel's own threads. A tmpfs takes 0.02 ms, and 0.08 ms to close.
 */
#include "maker/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "maker/ext4.h"
#include "maker/kernel.h"

enum { LOOP_TRIES = 64, PATH_ROOM = 32, SECTOR_BYTES = 4096 };

#ifndef LOOP_CONFIGURE                 /* Linux 5.8; musl's kernel headers may be older */
#define LOOP_CONFIGURE 0x4C0A
struct loop_config { uint32_t fd, block_size; struct loop_info64 info; uint64_t zero[8]; };
#endif
/* The loop device that was free a moment ago; -EBUSY if somebody else has taken it since. */
static int
take_loop(int control, int file)
{
        const struct loop_config config = { .fd = (uint32_t)file, .block_size = SECTOR_BYTES, .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };
        int number = ioctl(control, LOOP_CTL_GET_FREE), loop, result;
        char path[PATH_ROOM];

        if (number < 0)
                return -errno;
        (void)snprintf(path, sizeof path, "/dev/loop%d", number);
        loop = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (loop < 0)
                return -errno;
        result = ioctl(loop, LOOP_CONFIGURE, &config) < 0 ? -errno : loop;
        if (result < 0)
                (void)close(loop);
        return result;
}

static int
open_loop(int file)
{
        int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC | O_NOFOLLOW), loop = -EBUSY;

        if (control < 0)
                return -errno;
        for (int i = 0; i < LOOP_TRIES && loop == -EBUSY; i++)
                loop = take_loop(control, file);
        (void)close(control);
        return loop;
}

/* By its descriptor: the box's list of mounts then names no device. What is flushed inside need not survive a power failure. */
static int
mount_loop(int loop)
{
        int fs = kernel_fsopen("ext4"), mount, result;
        char source[PATH_ROOM];

        if (fs < 0)
                return fs;
        (void)snprintf(source, sizeof source, "/proc/self/fd/%d", loop);
        result = kernel_fsconfig(fs, FSCONFIG_SET_STRING, "source", source);
        if (result == 0)
                result = kernel_fsconfig(fs, FSCONFIG_SET_FLAG, "nobarrier", NULL);
        if (result == 0)
                result = kernel_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
        mount = result == 0 ? kernel_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) : result;
        (void)close(fs);
        return mount;
}

int
image_open(int directory, uint64_t mb, uint32_t uid, uint32_t gid)
{
        int file = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), loop, mount, result;

        if (file < 0)
                return -errno;
        result = ext4_format(file, mb, uid, gid);
        loop = result < 0 ? result : open_loop(file);
        (void)close(file);
        if (loop < 0)
                return loop;
        mount = mount_loop(loop);
        (void)close(loop);
        return mount;
}
