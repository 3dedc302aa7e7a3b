/*
 * prepare/image_files.c - files of a sandbox's image.
 *
 * Room: prepare (joining). Touches: fd (the layers of the image, for reading).
 */
#include "prepare/image_files.h"

#include <errno.h>
#include <sodium.h>
#include <unistd.h>

#include "base/scoped.h"
#include "prepare/image_programs.h"
#include "prepare/rootfs.h"
#include "spec/provider.h"

enum { PART = 64 << 10 };

struct image_files {
        struct image_view view;
};

struct image_files *
image_files_open(struct arena *arena, const struct prepared *p)
{
        struct image_files *f;
        struct error ignored;

        if (!p->image || spec_is_root(p->spec))
                return NULL;
        f = arena_new(arena, struct image_files);
        return f && image_programs_view(arena, p->image->state, &p->image->held.record, p->spec,
                                        &f->view, &ignored) == 0
                       ? f
                       : NULL;
}

void
image_files_close(struct image_files *f)
{
        if (f)
                image_view_close(&f->view);
}

static bool
digest(int fd, char hex[IMAGE_FILE_HEX])
{
        unsigned char part[PART], sum[crypto_hash_sha256_BYTES];
        crypto_hash_sha256_state hash;
        ssize_t len;

        (void)crypto_hash_sha256_init(&hash);
        do {
                len = read(fd, part, sizeof part);
                if (len > 0)
                        (void)crypto_hash_sha256_update(&hash, part, (size_t)len);
        } while (len > 0 || (len < 0 && errno == EINTR));
        (void)crypto_hash_sha256_final(&hash, sum);
        (void)sodium_bin2hex(hex, IMAGE_FILE_HEX, sum, sizeof sum);
        return len == 0;
}

enum image_file
image_files_digest(struct image_files *f, const char *path, size_t *most, char hex[IMAGE_FILE_HEX])
{
        enum image_found found;
        scoped_fd int fd = -1;
        struct stat st;

        hex[0] = '\0';
        if (!f)
                return IMAGE_FILE_UNKNOWN;
        found = image_view_read(&f->view, path, &fd, &st);
        if (found != IMAGE_FOUND)
                return found == IMAGE_ABSENT ? IMAGE_FILE_NONE : IMAGE_FILE_UNKNOWN;
        if ((uint64_t)st.st_size > *most)
                return IMAGE_FILE_FOUND;
        *most -= (size_t)st.st_size;
        return digest(fd, hex) ? IMAGE_FILE_FOUND : IMAGE_FILE_UNKNOWN;
}
