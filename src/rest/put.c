/*
 * rest/put.c - writing files: one from a raw body, or a batch from JSON.
 *
 * Room: rest (joining). Touches: mem.
 * Theory: the sandbox puts no file in place before the closing struct of the batch arrives. A
 * client that disconnects before closes the channel, and nothing has changed (Z23). A body of known
 * length is passed through, unless a rule must see its content: then it is collected as well, and
 * the call is made again with it. A chunked one is collected, up to a limit, before the call is
 * made: rules see the length, and an upload that takes long holds nothing of the sandbox.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/codec.h"
#include "codec/file_put.h"
#include "rest/ask.h"
#include "rest/filer.h"
#include "rest/rest.h"
#include "wire/file.h"

enum { CHUNKED_MAX = 8 << 20 };

struct writing {
        struct filer filer; /* must be first */
        struct file_put put;
        struct route route;
        char path[FILE_PATH_MAX + 1];
        int is_opened, is_known; /* the channel is open; the length is known from the beginning */
        struct buffer kept;      /* a batch, or a chunked body */
        int has_all;             /* of the body */
        int gives_content;       /* the call has all of its input */
        const char *const *names;
        char key[64];
        struct buffer announced; /* of a batch: size and path of each file */
};

static void
written(struct filer *f)
{
        exchange_answer(f->x, 204, NULL, NULL, 0);
}

static void
writing_fini(struct filer *f)
{
        struct writing *w = (struct writing *)(void *)f;

        buffer_fini(&w->kept);
        buffer_fini(&w->announced);
}

/* The callers check how much is kept. */
static int
keep(struct writing *w, const void *bytes, size_t len)
{
        return buffer_add(&w->kept, bytes, len, SIZE_MAX - 1) < 0 ? -1 : 0;
}

static void
pass(struct writing *w, const void *bytes, size_t len)
{
        /* a broken channel is reported when it is read */
        link_call_send(&w->filer.call, CHANNEL_STDIN, bytes, len);
}

static void
finish(struct writing *w)
{
        const struct file_put last = { 0 };

        pass(w, &last, sizeof last);
        link_call_send(&w->filer.call, CHANNEL_STDIN_END, NULL, 0);
}

/* -- one file, raw ----------------------------------------------------------------------------- */

static void
pass_head(struct writing *w)
{
        pass(w, &w->put, sizeof w->put);
        pass(w, w->path, w->put.path_len);
}

/* Sends the collected bytes as one file. */
static void
pass_collected(struct writing *w)
{
        pass_head(w);
        pass(w, w->kept.bytes, w->kept.len);
        finish(w);
}

static void
put_opened(struct filer *f)
{
        struct writing *w = (struct writing *)(void *)f;

        w->is_opened = 1;
        if (w->gives_content)
                return;
        if (!w->is_known) {
                pass_collected(w);
                return;
        }
        pass_head(w);
        if (w->has_all)
                finish(w);
        else
                exchange_body_resume(f->x);
}

static void
put_writable(struct filer *f)
{
        exchange_body_resume(f->x);
}

/*
 * Octal if it starts with a zero, as users write modes; else decimal, as in JSON. A decimal 644 is
 * a mistake: it has the sticky bit and no read bits for others.
 */
static int
read_mode(struct writing *w, const char *text, struct error *e)
{
        bool is_octal = text && text[0] == '0';
        char *end;
        unsigned long mode;

        if (!text)
                return 0;
        mode = strtoul(text, &end, is_octal ? 8 : 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || mode > (is_octal ? 07777 : 0777))
                return fail_at(e, ERROR_INVALID_ARGUMENT, "mode", "value",
                               "mode is permission bits: 0644, or 420");
        w->put.mode = (uint32_t)mode & 0777;
        w->put.flags = FILE_PUT_MODE;
        return 0;
}

static int
read_place(struct writing *w, const char *query, struct error *e)
{
        struct arena arena;
        const char *path;
        int result = 0;

        arena_init(&arena, 64 * 1024);
        path = codec_query(&arena, query, "path");
        if (!path || path[0] == '\0' || strlen(path) > FILE_PATH_MAX)
                result = fail_at(
                        e, ERROR_INVALID_ARGUMENT, "path", path && path[0] ? "range" : "missing",
                        "file.write needs a path of 1 to %d bytes in the query", FILE_PATH_MAX);
        else
                (void)snprintf(w->path, sizeof w->path, "%s", path);
        w->put.path_len = (uint32_t)strlen(w->path);
        if (result == 0)
                result = read_mode(w, codec_query(&arena, query, "mode"), e);
        arena_fini(&arena);
        return result;
}

/* What rules may have to see: the files. */
static void
announce(const struct writing *w, struct record_writer *record)
{
        const struct record_writer before = *record;
        const char *bytes = w->announced.bytes;
        struct file_put put;

        if (w->put.path_len > 0)
                api_announce_file(record, w->put.len, w->path, w->put.path_len);
        for (size_t at = 0; at < w->announced.len; at += put.path_len) {
                memcpy(&put, bytes + at, sizeof put);
                at += sizeof put;
                api_announce_file(record, put.len, bytes + at, put.path_len);
        }
        api_announce_end(record, &before);
}

/* What the channel would carry. */
static int
give_content(const struct writing *w, struct record_writer *record, struct error *e)
{
        const struct file_put last = { 0 };
        struct buffer all = { 0 };
        int result = 0;

        if (w->put.path_len > 0)
                result = buffer_add(&all, &w->put, sizeof w->put, API_CONTENT_MAX) |
                         buffer_add(&all, w->path, w->put.path_len, API_CONTENT_MAX);
        result |= buffer_add(&all, w->kept.bytes, w->kept.len, API_CONTENT_MAX);
        result |= buffer_add(&all, &last, sizeof last, API_CONTENT_MAX);
        if (result == 0)
                record_bytes(record, FIELD_INPUT, RECORD_BYTES, all.bytes, all.len);
        buffer_fini(&all);
        return result == 0
                       ? 0
                       : fail_at(e, ERROR_POLICY_DENIED, "commands/validators", "content_too_long",
                                 "a rule must see the content of file.write, and sees at most "
                                 "%d bytes in one call",
                                 (int)API_CONTENT_MAX);
}

/* Reads path and query of a write; the keeper gets its body only if a rule must see it. */
static int
ask_writing(struct writing *w, struct error *e)
{
        struct exchange *x = w->filer.x;
        struct codec_call call = { .operation = operation(OP_FILE_WRITE),
                                   .path = &w->route.path,
                                   .query = x->query,
                                   .query_names = w->names,
                                   .key = w->key[0] != '\0'
                                                  ? w->key
                                                  : exchange_header(x, "idempotency-key") };
        struct record_writer record = ask_record();

        if (ask_read(&call, &record, e) < 0)
                return -1;
        if (!w->gives_content)
                announce(w, &record);
        else if (give_content(w, &record, e) < 0)
                return -1;
        return ask_with(x, operation(OP_FILE_WRITE), &record, &w->filer.call, e);
}

/* A rule must see the content: the call is made again, once all of the body is here. */
static int
writing_denied(struct filer *f, const struct error *why)
{
        struct writing *w = (struct writing *)(void *)f;
        struct error e;

        if (!api_content_is_asked(why) || w->gives_content)
                return 0;
        w->gives_content = 1;
        if (w->is_known && !w->has_all) {
                w->is_known = 0; /* it is collected */
                exchange_body_resume(f->x);
        } else if (ask_writing(w, &e) < 0) {
                filer_fail(f, &e);
        }
        return 1;
}

static void
put_body(struct exchange *x, const void *bytes, size_t len)
{
        struct writing *w = x->state;
        struct error e;

        if (w->is_known && len > 0) {
                pass(w, bytes, len);
                if (link_call_pending(&w->filer.call) > FOLLOW_BURST)
                        exchange_body_pause(x);
        } else if (w->is_known) {
                w->has_all = 1;
                if (w->is_opened)
                        finish(w);
        } else if (w->kept.len + len > CHUNKED_MAX) {
                (void)fail(&e, ERROR_REQUEST_TOO_LARGE,
                           "a body in chunks may have at most %d bytes; nothing was written",
                           CHUNKED_MAX);
                error_hint(&e, "Send the file with a Content-Length, as `curl -T FILE` does: then "
                               "its size is not limited.");
                filer_fail(&w->filer, &e);
        } else if (len > 0) {
                if (exchange_keep_body(x, w->kept.len + len, &e) < 0) {
                        filer_fail(&w->filer, &e);
                } else if (keep(w, bytes, len) < 0) {
                        exchange_no_memory(x);
                        filer_end(&w->filer);
                }
        } else {
                w->has_all = 1;
                w->put.len = w->kept.len;
                if (ask_writing(w, &e) < 0)
                        filer_fail(&w->filer, &e);
        }
}

void
rest_file_put(struct exchange *x, const struct route *route)
{
        static const struct filer_ops ops = { .opened = put_opened,
                                              .done = written,
                                              .denied = writing_denied,
                                              .writable = put_writable,
                                              .fini = writing_fini };
        static const struct exchange_hooks hooks = { .gone = filer_gone,
                                                     .drained = filer_drained,
                                                     .body = put_body };
        static const char *const names[] = { "path", "mode", NULL };
        struct writing *w = (struct writing *)(void *)filer_new(x, sizeof *w, &ops, &hooks);
        const char *length = exchange_header(x, "content-length");
        struct error e;

        if (!w)
                return;
        w->is_known = exchange_header(x, "transfer-encoding") == NULL;
        /* http_head.h has checked it already */
        w->put.len = length ? strtoull(length, NULL, 10) : 0;
        w->route = *route;
        w->names = names;
        if (read_place(w, x->query, &e) < 0 || (w->is_known && ask_writing(w, &e) < 0)) {
                filer_fail(&w->filer, &e);
                return;
        }
        if (w->is_known)
                exchange_body_pause(x);
}

/* -- a batch ----------------------------------------------------------------------------------- */

static int
read_file(struct writing *w, struct arena *arena, const struct node *node, int index,
          struct error *e)
{
        struct codec_file file;

        if (codec_read_file(arena, node, index, &file, e) < 0)
                return -1;
        if (keep(w, &file.put, sizeof file.put) < 0 || keep(w, file.path, file.put.path_len) < 0 ||
            keep(w, file.bytes, file.put.len) < 0 ||
            buffer_add(&w->announced, &file.put, sizeof file.put, SIZE_MAX - 1) < 0 ||
            buffer_add(&w->announced, file.path, file.put.path_len, SIZE_MAX - 1) < 0)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
        return 0;
}

static int
read_batch(struct writing *w, struct arena *arena, char *key, size_t key_room, struct error *e)
{
        const struct node *body, *files, *given;
        int index = 0;

        if (codec_body(arena, w->filer.x->body, w->filer.x->body_len, &body, e) < 0)
                return -1;
        files = node_find(body, "files");
        given = node_find(body, "key");
        if (!files || files->kind != NODE_LIST || files->len == 0 || files->len > FILE_BATCH_MAX)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "files", files ? "range" : "missing",
                               "files is an array of 1 to %d entries", FILE_BATCH_MAX);
        node_each(n, body) if (n != files && n != given) return fail_at(
                e, ERROR_INVALID_ARGUMENT, n->key, "unknown_field",
                "file.write takes no %.60s; it takes files and key", n->key);
        if (given && given->kind == NODE_STRING && given->len >= 1 && given->len < key_room)
                (void)snprintf(key, key_room, "%s", given->text);
        else if (given && given->kind != NODE_NULL)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "key", "value",
                               "key is a string of 1 to 63 bytes");
        node_each(file, files) if (read_file(w, arena, file, index++, e) < 0) return -1;
        return 0;
}

static void
batch_opened(struct filer *f)
{
        struct writing *w = (struct writing *)(void *)f;

        if (w->gives_content)
                return;
        pass(w, w->kept.bytes, w->kept.len);
        finish(w);
}

void
rest_file_write(struct exchange *x, const struct route *route)
{
        static const struct filer_ops ops = { .opened = batch_opened,
                                              .done = written,
                                              .denied = writing_denied,
                                              .fini = writing_fini };
        static const struct exchange_hooks hooks = { .gone = filer_gone, .drained = filer_drained };
        struct writing *w = (struct writing *)(void *)filer_new(x, sizeof *w, &ops, &hooks);
        struct arena arena;
        struct error e;
        int result;

        if (!w)
                return;
        w->route = *route;
        w->has_all = 1;
        arena_init(&arena, ASK_MEMORY);
        result = read_batch(w, &arena, w->key, sizeof w->key, &e);
        arena_fini(&arena);
        if (result < 0 || ask_writing(w, &e) < 0)
                filer_fail(&w->filer, &e);
}
