/*
 * rest/file.c - reads files, lists directories, and makes changes that carry no bytes.
 *
 * Room: rest (joining). Touches: mem.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/file_error.h"
#include "base/buffer.h"
#include "codec/codec.h"
#include "codec/encode.h"
#include "codec/file_entry.h"
#include "http/pour.h"
#include "rest/ask.h"
#include "rest/filer.h"
#include "rest/range.h"
#include "rest/rest.h"
#include "wire/file.h"

static const struct exchange_hooks hooks = { .gone = filer_gone, .drained = filer_drained };
static const char *const encoding_only[] = { "encoding", NULL };

/* -- reading ----------------------------------------------------------------------------------- */

struct reading {
        struct filer filer; /* must be first */
        struct route route;
        struct range range;
        uint64_t offset, length; /* as requested from the box */
        unsigned char head[sizeof(struct file_info)];
        size_t head_len;
        int is_probe; /* reads only the size: the range counts from the end */
};

static int ask_reading(struct reading *r, struct error *e);

/* The first bytes describe the file, so the head of the answer can now be written. */
static int
begin_answer(struct reading *r, struct error *e)
{
        struct exchange *x = r->filer.x;
        struct file_info info;
        uint64_t left;
        char text[80];

        memcpy(&info, r->head, sizeof info);
        if (info.kind != FILE_REGULAR)
                return file_error_read(e, ENXIO, NULL, 0);
        if (r->is_probe) {
                r->is_probe = 0;
                r->head_len = 0;
                r->offset = info.size > r->range.length ? info.size - r->range.length : 0;
                r->length = UINT64_MAX;
                r->range = (struct range){ RANGE_FROM, r->offset, UINT64_MAX };
                return ask_reading(r, e);
        }
        if (r->range.kind != RANGE_NONE && r->offset >= info.size) {
                (void)snprintf(text, sizeof text, "bytes */%" PRIu64, info.size);
                exchange_add(x, "Content-Range", text);
                return fail_at(e, ERROR_RANGE_UNSATISFIABLE, "Range", "range",
                               "the file has %" PRIu64 " bytes", info.size);
        }
        left = info.size > r->offset ? info.size - r->offset : 0;
        left = left < r->length ? left : r->length;
        exchange_add(x, "Accept-Ranges", "bytes");
        if (r->range.kind != RANGE_NONE) {
                (void)snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
                               r->offset, r->offset + left - 1, info.size);
                exchange_add(x, "Content-Range", text);
        }
        exchange_begin(x, r->range.kind != RANGE_NONE ? 206 : 200, "application/octet-stream",
                       (int64_t)left);
        return 0;
}

/* The file has content, and nothing of it has come. */
static bool
waits_for_content(const struct reading *r)
{
        struct file_info info;

        memcpy(&info, r->head, sizeof info);
        return info.kind == FILE_REGULAR && !r->is_probe && info.size > r->offset && r->length > 0;
}

/*
 * The answer begins with the first bytes of the content, so that a small file is read whole or
 * refused with an error: what ends in between cannot be answered any more.
 */
static int
read_output(struct filer *f, const void *bytes, size_t len, struct error *e)
{
        struct reading *r = (struct reading *)(void *)f;
        size_t head = sizeof r->head - r->head_len < len ? sizeof r->head - r->head_len : len;

        memcpy(r->head + r->head_len, bytes, head);
        r->head_len += head;
        if (!f->x->has_begun) {
                if (r->head_len < sizeof r->head || (len == head && waits_for_content(r)))
                        return 0;
                if (begin_answer(r, e) < 0)
                        return -1;
                if (!f->x->has_begun) /* it was asked again, for another part */
                        return 0;
        }
        if (len > head &&
            exchange_write(f->x, (const char *)bytes + head, len - head) > EXCHANGE_HIGH)
                link_call_pause(&f->call);
        return 0;
}

static void
read_done(struct filer *f)
{
        struct reading *r = (struct reading *)(void *)f;
        struct error e;

        if (!f->x->has_begun && r->head_len < sizeof r->head)
                (void)fail(&e, ERROR_PROTOCOL, "the file operation inside told nothing");
        else if (f->x->has_begun || begin_answer(r, &e) == 0)
                e.code = ERROR_NONE;
        if (e.code != ERROR_NONE)
                exchange_fail(f->x, &e);
        else if (f->x->has_begun)
                exchange_end(f->x);
}

static int
ask_reading(struct reading *r, struct error *e)
{
        struct exchange *x = r->filer.x;
        struct codec_call call = { .operation = operation(OP_FILE_READ),
                                   .path = &r->route.path,
                                   .query = x->query };
        struct record_writer w = ask_record();
        struct record record;

        if (ask_read(&call, &w, e) < 0)
                return -1;
        record = (struct record){ w.bytes, w.len };
        if (r->range.kind == RANGE_NONE) {
                r->offset = record_get_uint(&record, FIELD_OFFSET, 0);
                r->length = record_get_uint(&record, FIELD_LENGTH, UINT64_MAX);
        } else {
                if (record_find(&record, FIELD_OFFSET, &(struct record_entry){ 0 }) ||
                    record_find(&record, FIELD_LENGTH, &(struct record_entry){ 0 }))
                        return fail_at(e, ERROR_INVALID_ARGUMENT, "Range", "twice",
                                       "a part is asked for by Range and by the query");
                record_uint(&w, FIELD_OFFSET, r->offset);
                if (r->length != UINT64_MAX)
                        record_uint(&w, FIELD_LENGTH, r->length);
        }
        return ask_with(x, operation(OP_FILE_READ), &w, &r->filer.call, e);
}

void
rest_file_read(struct exchange *x, const struct route *route)
{
        static const struct filer_ops ops = { .output = read_output, .done = read_done };
        struct reading *r = (struct reading *)(void *)filer_new(x, sizeof *r, &ops, &hooks);
        struct error e;

        if (!r)
                return;
        r->route = *route;
        r->range = range_read(exchange_header(x, "range"));
        r->is_probe = r->range.kind == RANGE_LAST;
        r->offset = r->range.kind == RANGE_FROM ? r->range.first : 0;
        r->length = r->is_probe ? 1 : r->range.length;
        if (ask_reading(r, &e) < 0)
                filer_fail(&r->filer, &e);
}

/* -- entries ----------------------------------------------------------------------------------- */

struct listing {
        struct filer filer; /* must be first */
        struct json_writer w;
        struct buffer rest; /* the first bytes of an incomplete entry */
        int is_one, is_cut, count;
        char *next; /* where the next part starts, or NULL */
};

/*
 * A part names the start of the next one. This is not possible for a listing in the directory's own
 * order.
 */
static void
take_more(struct listing *l, const char *next, size_t len)
{
        l->is_cut = 1;
        if (len == 0 || l->next)
                return;
        l->next = strndup(next, len);
        if (!l->next)
                l->w.is_broken = true;
}

/*
 * Takes complete entries from the front. Returns how many bytes they have, or -1 if they are
 * malformed.
 */
static ssize_t
take_entries(struct listing *l, const unsigned char *bytes, size_t len)
{
        struct file_listed listed;
        size_t at = 0;
        int result;

        while ((result = file_entry_next(bytes, len, &at, &listed)) > 0) {
                if (listed.entry.kind == FILE_MORE) {
                        take_more(l, listed.path, listed.entry.path_len);
                        continue;
                }
                codec_write_file(&l->w, &listed, l->filer.is_base64);
                l->count++;
        }
        if (result < 0)
                return -1;
        return (ssize_t)at;
}

/*
 * A long listing is sent in parts: written entries go out, and while the client does not read,
 * listing pauses.
 */
static void
hand_on(struct listing *l)
{
        struct filer *f = &l->filer;

        if (l->w.is_broken)
                return; /* reported at its end */
        if (!f->x->has_begun)
                exchange_begin(f->x, 200, "application/json", -1);
        if (exchange_write(f->x, l->w.text, l->w.len) > EXCHANGE_HIGH)
                link_call_pause(&f->call);
        json_forget(&l->w);
}

static int
list_output(struct filer *f, const void *bytes, size_t len, struct error *e)
{
        struct listing *l = (struct listing *)(void *)f;
        ssize_t taken;

        if (buffer_add(&l->rest, bytes, len, SIZE_MAX - 1) < 0)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this listing");
        taken = take_entries(l, (const unsigned char *)l->rest.bytes, l->rest.len);
        if (taken < 0)
                return fail(e, ERROR_PROTOCOL, "the listing from inside is malformed");
        l->rest.len -= (size_t)taken;
        memmove(l->rest.bytes, l->rest.bytes + taken, l->rest.len);
        if (!l->is_one && l->w.len >= POUR_LEAST)
                hand_on(l);
        return 0;
}

static void
end_parts(struct listing *l)
{
        hand_on(l);
        exchange_end(l->filer.x);
}

static void
list_done(struct filer *f)
{
        struct listing *l = (struct listing *)(void *)f;
        struct error e;

        if (l->rest.len > 0 || (l->is_one && l->count != 1)) {
                (void)fail(&e, ERROR_PROTOCOL, "the listing from inside is malformed");
                exchange_fail(f->x, &e);
                return;
        }
        if (!l->is_one) {
                json_close_list(&l->w);
                if (l->next)
                        json_member_text(&l->w, "next_cursor", l->next);
                else if (l->is_cut)
                        json_member_bool(&l->w, "truncated", true);
                json_close_map(&l->w);
        }
        if (f->x->has_begun && l->w.is_broken)
                exchange_abort(f->x);
        else if (f->x->has_begun)
                end_parts(l);
        else
                exchange_json(f->x, 200, &l->w);
}

static void
list_fini(struct filer *f)
{
        struct listing *l = (struct listing *)(void *)f;

        json_fini(&l->w);
        buffer_fini(&l->rest);
        free(l->next);
}

static void
begin_listing(struct exchange *x, const struct route *route, int is_one)
{
        static const struct filer_ops ops = { .output = list_output,
                                              .done = list_done,
                                              .fini = list_fini };
        struct listing *l = (struct listing *)(void *)filer_new(x, sizeof *l, &ops, &hooks);
        struct error e;

        if (!l)
                return;
        l->is_one = is_one;
        json_init(&l->w, false);
        if (!is_one) {
                json_open_map(&l->w);
                json_key(&l->w, "items");
                json_open_list(&l->w);
        }
        if (ask(x, route, route->operation, encoding_only, &l->filer.call, &e) < 0)
                filer_fail(&l->filer, &e);
}

void
rest_file_list(struct exchange *x, const struct route *route)
{
        begin_listing(x, route, 0);
}

void
rest_file_stat(struct exchange *x, const struct route *route)
{
        begin_listing(x, route, 1);
}

/* -- changes ----------------------------------------------------------------------------------- */

struct change {
        struct filer filer;
        int is_remove;
};

static void
answer_existed(struct exchange *x, int existed)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_bool(&w, "existed", existed);
        json_close_map(&w);
        exchange_json(x, 200, &w);
}

static void
change_done(struct filer *f)
{
        if (((struct change *)(void *)f)->is_remove)
                answer_existed(f->x, 1);
        else
                exchange_answer(f->x, 204, NULL, NULL, 0);
}

static int
change_refused(struct filer *f, int status)
{
        if (!((struct change *)(void *)f)->is_remove || status != ENOENT)
                return 0;
        answer_existed(f->x, 0);
        return 1;
}

void
rest_file_change(struct exchange *x, const struct route *route)
{
        static const struct filer_ops ops = { .done = change_done, .refused = change_refused };
        struct change *c = (struct change *)(void *)filer_new(x, sizeof *c, &ops, &hooks);
        struct error e;

        if (!c)
                return;
        c->is_remove = route->operation->code == OP_FILE_REMOVE;
        if (ask(x, route, route->operation, NULL, &c->filer.call, &e) < 0)
                filer_fail(&c->filer, &e);
}
