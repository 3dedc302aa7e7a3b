/*
 * image/saved.c - machines of an image that were saved when their kernel had started.
 *
 * Room: image (joining). Touches: fd (the store).
 */
#include "image/saved.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "wire/saved.h"

#define MACHINES "machines"

enum { MODE = 0400, NAME_ROOM = 2 * DIGEST_HEX };

_Static_assert((int)SAVED_ID == (int)DIGEST_BYTES, "a head holds digests");

static void
name_of(const struct digest *image, const struct digest *key, char name[NAME_ROOM])
{
        digest_hex(image, name);
        name[DIGEST_HEX - 1] = '.';
        digest_hex(key, name + DIGEST_HEX);
}

/* Its head, if the file is whole. */
static bool
read_head(int fd, struct saved_head *ret)
{
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               pread(fd, ret, sizeof *ret, 0) == sizeof *ret &&
               memcmp(ret->magic, SAVED_MAGIC, sizeof ret->magic) == 0 && ret->bytes > 0 &&
               (uint64_t)st.st_size == ret->bytes + SAVED_AT;
}

bool
image_saved_open(const char *state, const struct digest *image, const struct digest *key,
                 struct arena *arena, int *ret_fd, const char **ret_path, uint32_t *ret_khz)
{
        char name[NAME_ROOM];
        struct saved_head head;
        scoped_fd int fd = -1;
        const char *path;

        name_of(image, key, name);
        path = arena_format(arena, "%s/images/" MACHINES "/%s", state, name);
        fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (fd < 0 || !read_head(fd, &head) ||
            memcmp(head.image, image->bytes, sizeof head.image) != 0 ||
            memcmp(head.key, key->bytes, sizeof head.key) != 0)
                return false;
        *ret_khz = head.tsc_khz;
        *ret_path = path;
        *ret_fd = fd_take(&fd);
        return true;
}

int
image_saved_new(const struct image_store *s, int *ret_fd, struct error *e)
{
        *ret_fd = openat(s->making, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        return *ret_fd < 0
                       ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a file beside the images")
                       : 0;
}

int
image_saved_begin(int fd, const struct digest *image, const struct digest *key, uint32_t tsc_khz)
{
        struct saved_head head = { .tsc_khz = tsc_khz };

        memcpy(head.magic, SAVED_MAGIC, sizeof head.magic);
        memcpy(head.image, image->bytes, sizeof head.image);
        memcpy(head.key, key->bytes, sizeof head.key);
        return pwrite(fd, &head, sizeof head, 0) == sizeof head ? 0 : errno != 0 ? -errno : -EIO;
}

int
image_saved_keep(const struct image_store *s, int fd, uint64_t *ret_bytes, struct error *e)
{
        char from[64], making[64], name[NAME_ROOM];
        scoped_fd int machines = -1;
        struct digest image, key;
        struct saved_head head;

        if (!read_head(fd, &head))
                return fail(e, ERROR_BACKEND_FAILED, "the machine was not saved whole");
        memcpy(image.bytes, head.image, sizeof image.bytes);
        memcpy(key.bytes, head.key, sizeof key.bytes);
        name_of(&image, &key, name);
        (void)snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
        (void)snprintf(making, sizeof making, "machine.%ld", (long)getpid());
        if (mkdirat(s->dir, MACHINES, 0700) < 0 && errno != EEXIST)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making the directory of machines");
        machines = openat(s->dir, MACHINES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)unlinkat(s->making, making, 0);
        if (machines < 0 || fchmod(fd, MODE) < 0 || fsync(fd) < 0 ||
            linkat(AT_FDCWD, from, s->making, making, AT_SYMLINK_FOLLOW) < 0 ||
            renameat(s->making, making, machines, name) < 0 || fsync(machines) < 0)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_BACKEND_FAILED,
                                errno, "keeping a saved machine");
        *ret_bytes = head.bytes + SAVED_AT;
        return 0;
}

/* IMAGE.KEY; anything else is nobody's. */
static bool
is_of(const struct image_store *s, const char *name, const struct digest *image)
{
        char hex[DIGEST_HEX];
        struct digest found;

        if (strlen(name) != NAME_ROOM - 1 || name[DIGEST_HEX - 1] != '.')
                return !image;
        memcpy(hex, name, DIGEST_HEX - 1);
        hex[DIGEST_HEX - 1] = '\0';
        if (!digest_read_hex(hex, &found))
                return !image;
        if (image)
                return digest_equals(&found, image);
        return faccessat(s->records, hex, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

size_t
image_saved_remove(const struct image_store *s, const struct digest *image)
{
        int copy = openat(s->dir, MACHINES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *entries = copy < 0 ? NULL : fdopendir(copy);
        const struct dirent *entry;
        size_t count = 0;

        if (!entries) {
                scoped_fd_close(&copy);
                return 0;
        }
        while ((entry = readdir(entries)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    is_of(s, entry->d_name, image) &&
                    unlinkat(dirfd(entries), entry->d_name, 0) == 0)
                        count++;
        (void)closedir(entries);
        return count;
}
