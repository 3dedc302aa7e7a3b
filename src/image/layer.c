/*
 * image/layer.c - unpacks one layer into the store, once.
 *
 * Room: image (joining). Touches: fd (layers and making of the store), a child process
 * (unpacker.h).
 * Theory: the files are unpacked below `making`, under a lock with the layer's name, and get their
 * name in one step after they are on the disk. Whoever has the lock may erase what is there: its
 * maker is gone.
 */
#include "image/layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/erase.h"

#define FACTS "facts"

enum { MAKING_NAME = DIGEST_HEX + 2 };

static int
failed(struct error *e, int sys)
{
        if (sys == ENOSPC || sys == EDQUOT)
                return fail(e, ERROR_STORAGE_FULL, "the disk of the images is full");
        return fail_sys(e, ERROR_BACKEND_FAILED, sys, "writing a layer");
}

/* -- facts ------------------------------------------------------------------------------------- */

static int
facts_write(int dir, const struct layer_facts *f)
{
        scoped_fd int fd = openat(dir, FACTS, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        return fd < 0 || dprintf(fd, "%llu %llu %llu\n", (unsigned long long)f->entries,
                                 (unsigned long long)f->bytes, (unsigned long long)f->left_out) < 0
                       ? -1
                       : 0;
}

static void
facts_read(int dir, struct layer_facts *ret)
{
        scoped_fd int fd = openat(dir, FACTS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        unsigned long long numbers[3] = { 0, 0, 0 };
        char text[80] = "";

        if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 ||
            sscanf(text, "%llu %llu %llu", &numbers[0], &numbers[1], &numbers[2]) != 3)
                return; /* only shown to people */
        *ret = (struct layer_facts){ numbers[0], numbers[1], numbers[2] };
}

bool
layer_exists(const struct image_store *s, const struct digest *diff_id, struct layer_facts *ret)
{
        scoped_fd int dir = -1;
        char hex[DIGEST_HEX];

        *ret = (struct layer_facts){ 0 };
        digest_hex(diff_id, hex);
        dir = openat(s->layers, hex, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir < 0)
                return false;
        facts_read(dir, ret);
        return true;
}

/* -- adding ------------------------------------------------------------------------------------ */

static int
lock_making(struct image_store *s, const char *hex, int *ret, struct error *e)
{
        *ret = openat(s->making, hex, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (*ret < 0)
                return failed(e, errno);
        while (flock(*ret, LOCK_EX) < 0)
                if (errno != EINTR)
                        return failed(e, errno);
        return 0;
}

/* An empty layer: its directory, and the one of its files. */
static int
make_empty(struct image_store *s, const char *making, int *ret_dir, int *ret_root, struct error *e)
{
        int result = erase_all(s->making, making);

        if (result < 0)
                return failed(e, -result);
        if (mkdirat(s->making, making, 0700) < 0)
                return failed(e, errno);
        *ret_dir = openat(s->making, making, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* its owner is that of every file in it, also where directories hand on a group */
        if (*ret_dir < 0 || mkdirat(*ret_dir, IMAGE_LAYER_ROOT, 0755) < 0 ||
            fchownat(*ret_dir, IMAGE_LAYER_ROOT, geteuid(), getegid(), AT_SYMLINK_NOFOLLOW) < 0 ||
            fchmodat(*ret_dir, IMAGE_LAYER_ROOT, 0755, 0) < 0)
                return failed(e, errno);
        *ret_root = openat(*ret_dir, IMAGE_LAYER_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return *ret_root < 0 ? failed(e, errno) : 0;
}

static int
commit(struct image_store *s, const char *making, const char *hex, int dir,
       const struct layer_facts *facts, struct error *e)
{
        if (facts_write(dir, facts) < 0 || syncfs(dir) < 0 ||
            renameat(s->making, making, s->layers, hex) < 0 || fsync(s->layers) < 0)
                return failed(e, errno);
        return 0;
}

static int
unpack(struct image_store *s, const struct digest *diff_id, const char *making, int archive,
       const struct image_limits *limits, const struct image_progress *progress, const char *label,
       struct layer_facts *ret, struct error *e)
{
        scoped_fd int dir = -1, root = -1;
        struct unpacked done;
        char hex[DIGEST_HEX];

        digest_hex(diff_id, hex);
        if (make_empty(s, making, &dir, &root, e) < 0 ||
            unpacker_run(UNPACK_LAYER, archive, root, limits, progress, label, &done, e) < 0)
                return -1;
        if (!digest_equals(&done.digest, diff_id))
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "digest",
                               "%s is not what the image's configuration names, or it changed "
                               "while it was read",
                               label);
        *ret = (struct layer_facts){ done.entries, done.bytes, done.left_out };
        return commit(s, making, hex, dir, ret, e);
}

int
layer_add(struct image_store *s, const struct digest *diff_id, int archive,
          const struct image_limits *limits, const struct image_progress *progress,
          const char *label, struct layer_facts *ret, bool *ret_is_new, struct error *e)
{
        char hex[DIGEST_HEX], making[MAKING_NAME + 1];
        scoped_fd int lock = -1;

        *ret_is_new = false;
        if (layer_exists(s, diff_id, ret))
                return 0;
        digest_hex(diff_id, hex);
        (void)snprintf(making, sizeof making, "%s.d", hex);
        if (lock_making(s, hex, &lock, e) < 0)
                return -1;
        if (layer_exists(s, diff_id, ret)) /* another import was first */
                return 0;
        if (unpack(s, diff_id, making, archive, limits, progress, label, ret, e) < 0) {
                (void)erase_all(s->making, making);
                return -1;
        }
        (void)unlinkat(s->making, hex, 0);
        *ret_is_new = true;
        return 0;
}

/* -- erasing ----------------------------------------------------------------------------------- */

int
layer_erase(struct image_store *s, const char *hex, struct error *e)
{
        scoped_fd int dir = openat(s->layers, hex, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char making[MAKING_NAME + 1];
        int result;

        if (dir < 0)
                return errno == ENOENT ? 0 : failed(e, errno);
        if (flock(dir, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? 1 : failed(e, errno);
        /* without a name first: what is half erased is no layer */
        (void)snprintf(making, sizeof making, "%s.d", hex);
        result = erase_all(s->making, making);
        if (result < 0)
                return failed(e, -result);
        if (renameat(s->layers, hex, s->making, making) < 0)
                return failed(e, errno);
        result = erase_all(s->making, making);
        return result < 0 ? failed(e, -result) : 0;
}

void
layer_sweep(struct image_store *s)
{
        int copy = openat(s->making, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy < 0 ? NULL : fdopendir(copy);
        struct dirent *entry;

        if (!dir) {
                scoped_fd_close(&copy);
                return;
        }
        while ((entry = readdir(dir)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    unlinkat(s->making, entry->d_name, 0) < 0)
                        (void)erase_all(s->making, entry->d_name);
        (void)closedir(dir);
}
