/*
 * image/disk.c - an image as one read-only disk.
 *
 * Room: image (joining). Touches: fd (the store).
 */
#include "image/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"

#define DISKS "disks"

enum { MODE = 0444 }; /* the directory above is closed; a machine has another id */

int
image_disk_open(const char *state, const struct digest *image, struct arena *arena, int *ret_fd,
                const char **ret_path, struct error *e)
{
        char hex[DIGEST_HEX];
        const char *path;

        digest_hex(image, hex);
        path = arena_format(arena, "%s/images/" DISKS "/%s", state, hex);
        if (!path)
                return fail(e, ERROR_NO_MEMORY, "no memory for the path of a disk");
        *ret_fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        *ret_path = path;
        if (*ret_fd >= 0)
                return 0;
        return errno == ENOENT
                       ? fail_at(e, ERROR_IMAGE_NOT_FOUND, "config/image", "disk",
                                 "the image has no disk for a virtual machine yet")
                       : fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening the disk of an image");
}

bool
image_disk_exists(const struct image_store *s, const struct digest *image)
{
        char name[sizeof DISKS + DIGEST_HEX] = DISKS "/";

        digest_hex(image, name + sizeof DISKS);
        return faccessat(s->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int
image_disk_keep(const struct image_store *s, int dir, const char *name, const struct digest *image,
                struct error *e)
{
        scoped_fd int disks = -1, file = -1;
        char hex[DIGEST_HEX];

        digest_hex(image, hex);
        if (mkdirat(s->dir, DISKS, 0700) < 0 && errno != EEXIST)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making the directory of disks");
        disks = openat(s->dir, DISKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (disks < 0 || file < 0 || fchmod(file, MODE) < 0 || fsync(file) < 0 ||
            renameat(dir, name, disks, hex) < 0 || fsync(disks) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "keeping the disk of an image");
        return 0;
}

void
image_disk_sweep(const struct image_store *s)
{
        int copy = openat(s->dir, DISKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *entries = copy < 0 ? NULL : fdopendir(copy);
        const struct dirent *entry;

        if (!entries) {
                scoped_fd_close(&copy);
                return;
        }
        while ((entry = readdir(entries))) {
                struct digest image;

                if (digest_read_hex(entry->d_name, &image) &&
                    faccessat(s->records, entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
                    errno == ENOENT)
                        (void)unlinkat(dirfd(entries), entry->d_name, 0);
        }
        (void)closedir(entries);
}
