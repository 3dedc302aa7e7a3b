/*
 * maker/image.c - a sandbox's private disk: a file system of fixed size in an unnamed file.
 *
 * Room: maker (program). Touches: fd, one unnamed file, one loop device, one detached mount.
 * Theory: nothing here has a name that could be left behind. The file has no name (O_TMPFILE) and
 * cannot get one, not even through /proc (O_EXCL: linkat(2) then gives ENOENT). The loop device
 * clears itself when it is last closed (LO_FLAGS_AUTOCLEAR), and only the box's mount namespace
 * sees the mount. So a killed maker leaves nothing, and a lease has nothing to undo. The file is
 * sparse: it uses as much disk as the sandbox has written, at most `mb` MiB.
 *
 * The file system is written through the loop device. It stays in the kernel's memory, where the
 * mount finds it, and no block of the file is allocated before the kernel writes it back. Most
 * sandboxes have ended before that. Written into the file first, it is flushed to the disk as the
 * loop device is configured, read again by the mount, and discarded at the end.
 *
 * Measured (2 GiB, lowest of 180; the file written first in brackets): creation 0.35 ms (0.48), the
 * first directories 0.14 ms (0.38), closing 0.31 ms (0.54); medians while all processors are busy:
 * 0.9 ms (4.1) and 0.6 ms (4.8). A tmpfs takes 0.02 ms, and 0.08 ms to close.
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

#ifndef LOOP_CONFIGURE /* Linux 5.8; musl's kernel headers may be older */
#define LOOP_CONFIGURE 0x4C0A
struct loop_config {
        uint32_t fd, block_size;
        struct loop_info64 info;
        uint64_t zero[8];
};
#endif
/* A loop device that was free just now; -EBUSY if another process has taken it since. */
static int
take_loop(int control, int file)
{
        const struct loop_config config = { .fd = (uint32_t)file,
                                            .block_size = SECTOR_BYTES,
                                            .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };
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

/*
 * Mounts by descriptor, so that the box's mount list shows no device name. A flush inside need not
 * survive a power failure.
 */
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
        int file = openat(directory, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600), loop,
            mount, result;
        uint64_t bytes = ext4_bytes(mb);

        if (file < 0)
                return -errno;
        result = bytes == 0 ? -EINVAL : ftruncate(file, (off_t)bytes) < 0 ? -errno : 0;
        loop = result < 0 ? result : open_loop(file);
        (void)close(file);
        if (loop < 0)
                return loop;
        result = ext4_format(loop, mb, uid, gid);
        mount = result < 0 ? result : mount_loop(loop);
        (void)close(loop);
        return mount;
}
