/*
 * client/transfer.c - files of any length, in pieces: out of a sandbox and into it.
 *
 * Room: client (joining). Touches: what exec and connection touch.
 * Theory: the commit puts all files of a writer in place together. Until then the sandbox keeps
 * them beside their places; without a commit it removes them. If the sandbox fails early (no space,
 * no permission), the writer reads that error as soon as its input stops flowing. Where rules must
 * see the files, a writer that announced none keeps them, and makes its call with the commit. So
 * does every writer where rules must see the content.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "client/answer.h"
#include "client/connection.h"
#include "client/exec.h"
#include "client/file.h"
#include "wire/file.h"

enum { LAST_WORDS_MS = 2000, KEPT_MAX = 8 << 20 /* bytes of a writer that keeps its files */ };

/* -- out of a sandbox -------------------------------------------------------------------------- */

struct carrel_reader {
        struct file_stream s;
        struct file_info info;
        const unsigned char *bytes;
        size_t len;    /* arrived with the info, not returned yet */
        uint64_t left; /* bytes that may still arrive */
};

/* The info comes first, possibly in several pieces. */
static int
read_info(struct carrel_reader *r, uint64_t offset, uint64_t length, struct error *e)
{
        size_t got_len = 0, n;
        const void *bytes;

        while (got_len < sizeof r->info) {
                int got = file_stream_next(&r->s, -1, &bytes, &n, e);

                if (got <= 0)
                        return got < 0 ? -1
                                       : fail(e, ERROR_PROTOCOL,
                                              "a file came without its description");
                r->len = n < sizeof r->info - got_len ? n : sizeof r->info - got_len;
                memcpy((unsigned char *)&r->info + got_len, bytes, r->len);
                got_len += r->len;
                r->bytes = (const unsigned char *)bytes + r->len;
                r->len = n - r->len;
        }
        r->left = r->info.size > offset ? r->info.size - offset : 0;
        if (length > 0 && length < r->left)
                r->left = length;
        return r->info.kind == FILE_REGULAR ? 0
                                            : fail(e, ERROR_PROTOCOL, "a file came that is none");
}

int
carrel_reader_open(struct carrel *c, const char *id, const char *path, uint64_t offset,
                   uint64_t length, struct carrel_reader **ret, struct carrel_error *e)
{
        struct record_writer *w = connection_begin(c);
        struct carrel_reader *r = calloc(1, sizeof *r);
        struct error inner;

        record_text(w, FIELD_ID, id);
        record_text(w, FIELD_PATH, path);
        if (offset > 0)
                record_uint(w, FIELD_OFFSET, offset);
        if (length > 0)
                record_uint(w, FIELD_LENGTH, length);
        if (!r)
                (void)fail(&inner, ERROR_NO_MEMORY, "no memory for a reader");
        else if (file_stream_open(c, OP_FILE_READ, &r->s, &inner) == 0 &&
                 read_info(r, offset, length, &inner) == 0) {
                *ret = r;
                return 0;
        }
        carrel_reader_free(r);
        return answer_fail(e, &inner);
}

void
carrel_reader_about(const struct carrel_reader *r, struct carrel_bytes *ret)
{
        *ret = (struct carrel_bytes){
                .size = r->info.size,
                .modified_at_ms = r->info.mtime_ns > 0 ? (uint64_t)r->info.mtime_ns / 1000000 : 0,
                .mode = r->info.mode & 07777
        };
}

int
carrel_reader_next(struct carrel_reader *r, const void **ret_bytes, size_t *ret_len,
                   struct carrel_error *e)
{
        struct error inner;
        int got = 1;

        *ret_bytes = r->bytes;
        *ret_len = r->len;
        if (r->len == 0)
                got = file_stream_next(&r->s, -1, ret_bytes, ret_len, &inner);
        r->len = 0;
        if (got == 1 && *ret_len > r->left)
                got = fail(&inner, ERROR_PROTOCOL, "more of a file came than it told of");
        if (got < 0)
                return answer_fail(e, &inner);
        if (got == 1)
                r->left -= *ret_len;
        return got;
}

void
carrel_reader_free(struct carrel_reader *take_r)
{
        if (!take_r)
                return;
        file_stream_fini(&take_r->s);
        free(take_r);
}

/* -- into a sandbox ---------------------------------------------------------------------------- */

struct carrel_writer {
        struct file_stream s;
        uint64_t left; /* bytes of the current file that are missing */
        size_t count;
        int is_over, is_committed;
        struct error error; /* the reason, if it ended without a commit */
        /* a writer that keeps its files; c NULL: it does not */
        struct carrel *c;
        char *id, *key;
        struct buffer kept; /* what the channel would carry */
};

static void
writer_drop(struct carrel_writer *w)
{
        buffer_fini(&w->kept);
        free(w->id);
        free(w->key);
        free(w);
}

/* Until its commit. */
static int
open_keeping(struct carrel *c, const char *id, const char *key, struct carrel_writer **ret,
             struct carrel_error *e)
{
        struct carrel_writer *w = calloc(1, sizeof *w);
        struct error inner;

        if (w) {
                w->c = c;
                w->id = strdup(id);
                w->key = key ? strdup(key) : NULL;
        }
        if (w && w->id && (!key || w->key)) {
                *ret = w;
                return 0;
        }
        if (w)
                writer_drop(w);
        (void)fail(&inner, ERROR_NO_MEMORY, "no memory for a writer");
        return answer_fail(e, &inner);
}

int
carrel_writer_open(struct carrel *c, const char *id, const char *key, struct carrel_writer **ret,
                   struct carrel_error *e)
{
        struct carrel_error why;
        int result = carrel_writer_open_for(c, id, key, NULL, 0, ret, &why);

        if (result < 0 && strcmp(why.reason, "validator_arguments") == 0)
                return open_keeping(c, id, key, ret, e);
        if (result < 0 && e)
                *e = why;
        return result;
}

int
carrel_writer_open_for(struct carrel *c, const char *id, const char *key,
                       const struct carrel_file *files, size_t count, struct carrel_writer **ret,
                       struct carrel_error *e)
{
        struct record_writer *record = connection_begin(c), before;
        struct carrel_writer *w = calloc(1, sizeof *w);
        struct error inner;

        record_text(record, FIELD_ID, id);
        record_text(record, FIELD_KEY, key);
        before = *record;
        for (size_t i = 0; i < count; i++)
                if (files[i].path)
                        api_announce_file(record, files[i].len, files[i].path,
                                          strlen(files[i].path));
        api_announce_end(record, &before);
        if (!w)
                (void)fail(&inner, ERROR_NO_MEMORY, "no memory for a writer");
        else if (file_stream_open(c, OP_FILE_WRITE, &w->s, &inner) == 0) {
                *ret = w;
                return 0;
        }
        free(w);
        if (api_content_is_asked(&inner))
                return open_keeping(c, id, key, ret, e);
        return answer_fail(e, &inner);
}

/*
 * Reads what the operation reports; waits at most `timeout_ms`. Returns 0 if it still runs, -1 if
 * it has ended, which is a failure before the commit.
 */
static int
hear(struct carrel_writer *w, int timeout_ms)
{
        const void *bytes;
        size_t len;
        int got;

        if (w->is_over)
                return -1;
        while ((got = file_stream_next(&w->s, timeout_ms, &bytes, &len, &w->error)) == 1)
                ;
        if (got == 2)
                return 0;
        w->is_over = 1;
        if (got == 0 && !w->is_committed)
                (void)fail(&w->error, ERROR_PROTOCOL, "writing ended before it was complete");
        else if (got == 0)
                w->error.code = ERROR_NONE;
        return -1;
}

static int
keep(struct carrel_writer *w, const void *bytes, size_t len)
{
        int result = buffer_add(&w->kept, bytes, len, KEPT_MAX);

        if (result == 0)
                return 0;
        if (result != -E2BIG)
                return fail(&w->error, ERROR_NO_MEMORY, "no memory for the files of a writer");
        (void)fail(&w->error, ERROR_REQUEST_TOO_LARGE,
                   "rules must see these files, so they are kept until the commit, and they are "
                   "longer than %d bytes",
                   (int)KEPT_MAX);
        error_hint(&w->error, "Announce them: carrel_writer_open_for().");
        return -1;
}

/* Sends all of it, as fast as the sandbox reads. */
static int
put(struct carrel_writer *w, const void *bytes, size_t len)
{
        const char *at = bytes;

        if (w->c)
                return keep(w, bytes, len);
        while (len > 0) {
                struct pollfd p = { carrel_exec_fd(w->s.x), 0, 0 };
                long taken = w->is_over ? 0 : client_exec_write(w->s.x, at, len);

                at += taken;
                len -= (size_t)taken;
                if (taken > 0)
                        continue;
                p.events = carrel_exec_events(w->s.x);
                if (!w->is_over && poll(&p, 1, -1) < 0 && errno != EINTR)
                        return fail_sys(&w->error, ERROR_INTERNAL, errno,
                                        "waiting for the sandbox");
                if (hear(w, 0) < 0)
                        return -1;
        }
        return 0;
}

static int
wrong_use(struct carrel_error *e, const char *sentence)
{
        struct error inner;

        (void)fail(&inner, ERROR_INVALID_ARGUMENT, "%s", sentence);
        return answer_fail(e, &inner);
}

int
carrel_writer_file(struct carrel_writer *w, const char *path, int mode, uint64_t len,
                   struct carrel_error *e)
{
        size_t path_len = path ? strlen(path) : 0;
        struct file_put head = { .len = len,
                                 .path_len = (uint32_t)path_len,
                                 .mode = mode >= 0 ? (uint32_t)mode & 07777 : 0,
                                 .flags = mode >= 0 ? FILE_PUT_MODE : 0 };

        if (path_len == 0 || path_len > FILE_PATH_MAX)
                return wrong_use(e, "a path has 1 to 4095 bytes");
        if (w->left > 0)
                return wrong_use(e, "the file before this one is not complete");
        if (w->count == FILE_BATCH_MAX)
                return wrong_use(e, "one batch takes at most 1024 files");
        if (put(w, &head, sizeof head) < 0 || put(w, path, path_len) < 0)
                return answer_fail(e, &w->error);
        w->count++;
        w->left = len;
        return 0;
}

int
carrel_writer_bytes(struct carrel_writer *w, const void *bytes, size_t len, struct carrel_error *e)
{
        if (len > w->left)
                return wrong_use(e, "these are more bytes than were announced");
        if (put(w, bytes, len) < 0)
                return answer_fail(e, &w->error);
        w->left -= len;
        return 0;
}

static void
announce_kept(struct record_writer *record, const struct buffer *kept)
{
        const struct record_writer before = *record;
        struct file_put file;

        for (size_t at = 0; at + sizeof file <= kept->len; at += file.path_len + file.len) {
                memcpy(&file, kept->bytes + at, sizeof file);
                at += sizeof file;
                if (file.path_len > 0)
                        api_announce_file(record, file.len, kept->bytes + at, file.path_len);
        }
        api_announce_end(record, &before);
}

/* Makes the call: announces the files, or gives them whole. */
static int
open_kept(struct carrel_writer *w, struct carrel *c, const struct buffer *kept, bool gives)
{
        struct record_writer *record = connection_begin(c);

        record_text(record, FIELD_ID, w->id);
        record_text(record, FIELD_KEY, w->key);
        if (gives)
                record_bytes(record, FIELD_INPUT, RECORD_BYTES, kept->bytes, kept->len);
        else
                announce_kept(record, kept);
        return file_stream_open(c, OP_FILE_WRITE, &w->s, &w->error);
}

/* Sends what it has kept, with the end: it is a writer like others from then on. */
static int
send_kept(struct carrel_writer *w)
{
        struct buffer kept = w->kept;
        struct carrel *c = w->c;
        int result = open_kept(w, c, &kept, false);

        w->kept = (struct buffer){ 0 };
        w->c = NULL;
        if (result == 0)
                result = put(w, kept.bytes, kept.len);
        else if (api_content_is_asked(&w->error))
                result = open_kept(w, c, &kept, true);
        w->is_over = result < 0;
        buffer_fini(&kept);
        return result;
}

int
carrel_writer_commit(struct carrel_writer *w, struct carrel_error *e)
{
        struct file_put last = { .path_len = 0 };
        bool was_kept;

        if (w->left > 0)
                return wrong_use(e, "the last file is not complete");
        if (w->is_committed)
                return wrong_use(e, "these files are in place already");
        was_kept = w->c != NULL;
        if (was_kept && (keep(w, &last, sizeof last) < 0 || send_kept(w) < 0))
                return answer_fail(e, &w->error);
        if (was_kept || put(w, &last, sizeof last) == 0) {
                w->is_committed = 1;
                (void)client_exec_write_end(w->s.x, &w->error);
                (void)hear(w, -1);
                if (w->error.code == ERROR_NONE)
                        return 0;
        }
        return answer_fail(e, &w->error);
}

void
carrel_writer_free(struct carrel_writer *take_w)
{
        struct error inner;

        if (!take_w)
                return;
        if (!take_w->c && !take_w->is_over && client_exec_write_end(take_w->s.x, &inner) == 0)
                /* lets the operation remove the files that it has put beside their places */
                (void)hear(take_w, LAST_WORDS_MS);
        if (!take_w->c)
                file_stream_fini(&take_w->s);
        writer_drop(take_w);
}
