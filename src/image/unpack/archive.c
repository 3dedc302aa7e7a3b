/*
 * image/unpack/archive.c - reads a tar file, compressed or not, and puts its entries in place.
 *
 * Room: image/unpack (program). Touches: fd (the archive; the rest is target.h's).
 * Theory: two readers of libarchive. The outer one removes the compression and knows no format; the
 * inner one knows tar and nothing else. What passes between them is hashed, also what follows the
 * last entry: the digest of a layer is that of the whole file. No other format or compression of
 * libarchive is enabled.
 */
#include "image/unpack/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, STEP_BYTES = 1 << 20 };

/* What a tar file has beside the contents of its files: some for each entry, and a fill at the end.
 */
enum { ENTRY_BYTES = 4 << 10, BESIDE_BYTES = 64 << 20 };

struct reader {
        struct archive *outer, *inner;
        struct target *target;
        struct archive_result *result;
        crypto_hash_sha256_state hash;
        void (*step)(void *ctx);
        void *ctx;
        uint64_t bytes, stepped;
        bool is_beyond;
};

/* -- the compression --------------------------------------------------------------------------- */

/*
 * Are these more bytes than files within the limit can need? Contents that are not unpacked (of
 * hard links, after the last entry) cost time too. `entries`: those so far, or as many as may come.
 */
static bool
is_beyond(const struct reader *r)
{
        uint64_t entries = r->inner ? r->target->entries : r->target->limits.entries;
        uint64_t files = r->target->limits.bytes;

        return r->bytes > BESIDE_BYTES && (r->bytes - BESIDE_BYTES) / 2 > files &&
               r->bytes - BESIDE_BYTES - files > entries * ENTRY_BYTES;
}

static la_ssize_t
pull(struct archive *inner, void *ctx, const void **ret)
{
        struct reader *r = ctx;
        la_int64_t at;
        size_t len = 0;
        int result;

        do {
                result = archive_read_data_block(r->outer, ret, &len, &at);
                if (result == ARCHIVE_EOF)
                        return 0;
                if (result < ARCHIVE_WARN) {
                        if (inner)
                                archive_set_error(inner, EILSEQ, "%s",
                                                  archive_error_string(r->outer));
                        return -1;
                }
        } while (len == 0);
        (void)crypto_hash_sha256_update(&r->hash, *ret, len);
        r->bytes += len;
        if (is_beyond(r)) {
                r->is_beyond = true;
                return -1;
        }
        if (r->bytes - r->stepped >= STEP_BYTES) {
                r->stepped = r->bytes;
                r->step(r->ctx);
        }
        return (la_ssize_t)len;
}

/* What an archive is damaged by is shown as text, never as bytes of the archive. */
static int
broken(struct reader *r, struct archive *which)
{
        const char *why = archive_error_string(which);
        char *out = r->result->why;

        if (r->is_beyond)
                return target_refuse(r->target, r->target->name, "size", 0);

        (void)snprintf(out, sizeof r->result->why, "%s", why ? why : "it is damaged");
        for (; *out; out++)
                if ((unsigned char)*out < ' ' || (unsigned char)*out >= 0x7f)
                        *out = '?';
        return target_refuse(r->target, r->target->name, "archive", 0);
}

static int
open_outer(struct reader *r, int source)
{
        struct archive_entry *whole;

        r->outer = archive_read_new();
        if (!r->outer)
                return target_refuse(r->target, NULL, "failed", ENOMEM);
        if (archive_read_support_filter_gzip(r->outer) != ARCHIVE_OK ||
            archive_read_support_filter_zstd(r->outer) != ARCHIVE_OK ||
            archive_read_support_format_raw(r->outer) != ARCHIVE_OK ||
            archive_read_open_fd(r->outer, source, READ_BYTES) != ARCHIVE_OK ||
            archive_read_next_header(r->outer, &whole) != ARCHIVE_OK)
                return broken(r, r->outer);
        return 0;
}

static int
open_inner(struct reader *r)
{
        r->inner = archive_read_new();
        if (!r->inner)
                return target_refuse(r->target, NULL, "failed", ENOMEM);
        if (archive_read_support_format_tar(r->inner) != ARCHIVE_OK ||
            archive_read_open(r->inner, r, NULL, pull, NULL) != ARCHIVE_OK)
                return broken(r, r->inner);
        return 0;
}

/* -- the entries ------------------------------------------------------------------------------- */

static struct target_entry
entry_of(struct archive_entry *e)
{
        struct target_entry entry = { .name = archive_entry_pathname(e),
                                      .mode = archive_entry_mode(e),
                                      .link = archive_entry_symlink(e),
                                      .hard = archive_entry_hardlink(e),
                                      .at = { archive_entry_mtime(e),
                                              archive_entry_mtime_nsec(e) } };

        if (!entry.name)
                entry.name = archive_entry_pathname_utf8(e);
        /* a hard link may have content, which the file that it names has as well */
        if (S_ISREG(entry.mode) && !entry.hard && archive_entry_size(e) > 0)
                entry.size = (uint64_t)archive_entry_size(e);
        return entry;
}

static int
put(struct reader *r, int fd, const char *bytes, size_t len, off_t at)
{
        if (target_room(r->target, len) < 0)
                return -1;
        while (len > 0) {
                ssize_t done = pwrite(fd, bytes, len, at);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done <= 0)
                        return target_refuse(r->target, r->target->name,
                                             done < 0 && errno != ENOSPC ? "failed" : "room",
                                             done < 0 ? errno : ENOSPC);
                bytes += done;
                at += done;
                len -= (size_t)done;
        }
        return 0;
}

static int
fill(struct reader *r, const struct target_entry *entry, int fd)
{
        const void *bytes;
        la_int64_t at;
        size_t len;
        int result;

        while ((result = archive_read_data_block(r->inner, &bytes, &len, &at)) >= ARCHIVE_WARN &&
               result != ARCHIVE_EOF) {
                if (at < 0 || (uint64_t)at > entry->size || len > entry->size - (uint64_t)at)
                        return target_refuse(r->target, r->target->name, "archive", 0);
                if (put(r, fd, bytes, len, at) < 0)
                        return -1;
        }
        return result == ARCHIVE_EOF ? 0 : broken(r, r->inner);
}

static int
take(struct reader *r, struct archive_entry *e)
{
        struct target_entry entry = entry_of(e);
        int fd;

        if (target_make(r->target, &entry, &fd) < 0)
                return -1;
        if (fd < 0)
                return 0;
        if (fill(r, &entry, fd) == 0)
                return target_filled(r->target, &entry, fd);
        (void)close(fd);
        return -1;
}

/* Reads on to the end of the file, so that all of it is hashed. */
static int
drain(struct reader *r)
{
        const void *rest;
        la_ssize_t len;

        do
                len = pull(NULL, r, &rest);
        while (len > 0);
        return len < 0 ? broken(r, r->outer) : 0;
}

static int
take_all(struct reader *r)
{
        struct archive_entry *e;
        int result;

        while ((result = archive_read_next_header(r->inner, &e)) == ARCHIVE_OK ||
               result == ARCHIVE_WARN)
                if (take(r, e) < 0)
                        return -1;
        if (result != ARCHIVE_EOF)
                return broken(r, r->inner);
        return drain(r) < 0 ? -1 : target_end(r->target);
}

static void
no_step(void *ctx)
{
        (void)ctx;
}

static void
begin(struct reader *r, struct target *target, struct archive_result *ret)
{
        *r = (struct reader){ .target = target, .result = ret, .step = no_step };
        *ret = (struct archive_result){ .why = "" };
        (void)crypto_hash_sha256_init(&r->hash);
}

static void
end(struct reader *r)
{
        (void)archive_read_free(r->inner);
        (void)archive_read_free(r->outer);
        (void)crypto_hash_sha256_final(&r->hash, r->result->digest);
}

int
archive_unpack(int source, struct target *target, void (*step)(void *ctx), void *ctx,
               struct archive_result *ret)
{
        struct reader r;
        int result;

        begin(&r, target, ret);
        r.step = step;
        r.ctx = ctx;
        result = open_outer(&r, source) < 0 || open_inner(&r) < 0 ? -1 : take_all(&r);
        end(&r);
        return result;
}

int
archive_hash(int source, struct target *target, void (*step)(void *ctx), void *ctx,
             struct archive_result *ret)
{
        struct reader r;
        int result;

        begin(&r, target, ret);
        r.step = step;
        r.ctx = ctx;
        result = open_outer(&r, source) < 0 ? -1 : drain(&r);
        end(&r);
        return result;
}

/* -- what it holds ----------------------------------------------------------------------------- */

enum sight { SIGHT_NONE, SIGHT_IMAGE, SIGHT_ROOT };

/* What one name at the top says. The documents of an image may follow its layers. */
static enum sight
see(const char *name)
{
        static const char *const documents[] = { "manifest.json", "oci-layout", "index.json" };
        static const char *const roots[] = { "bin",  "boot", "dev", "etc", "home", "lib", "proc",
                                             "root", "sbin", "sys", "tmp", "usr",  "var" };
        size_t len;

        while (name && name[0] == '.' && name[1] == '/')
                name += 2;
        len = name ? strcspn(name, "/") : 0;
        for (size_t i = 0; len > 0 && i < sizeof documents / sizeof *documents; i++)
                if (strcmp(name, documents[i]) == 0)
                        return SIGHT_IMAGE;
        for (size_t i = 0; len > 0 && i < sizeof roots / sizeof *roots; i++)
                if (len == strlen(roots[i]) && memcmp(name, roots[i], len) == 0)
                        return SIGHT_ROOT;
        return SIGHT_NONE;
}

static int
look_at_all(struct reader *r, bool *ret_is_image)
{
        enum sight sight = SIGHT_NONE;
        struct archive_entry *e;
        int result = ARCHIVE_OK;

        while (sight == SIGHT_NONE &&
               ((result = archive_read_next_header(r->inner, &e)) == ARCHIVE_OK ||
                result == ARCHIVE_WARN))
                sight = see(archive_entry_pathname(e));
        *ret_is_image = sight == SIGHT_IMAGE;
        return sight == SIGHT_NONE && result != ARCHIVE_EOF ? broken(r, r->inner) : 0;
}

int
archive_look(int source, struct target *target, struct archive_result *ret, bool *ret_is_image)
{
        struct reader r;
        int result;

        begin(&r, target, ret);
        result = open_outer(&r, source) < 0 || open_inner(&r) < 0 ? -1
                                                                  : look_at_all(&r, ret_is_image);
        end(&r);
        return result;
}
