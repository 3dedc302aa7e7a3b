/*
 * rest/exec_view.c - an exec as JSON.
 *
 * Room: rest (joining). Touches: mem.
 */
#include "rest/exec_view.h"

#include <stdlib.h>
#include <string.h>

#include "api/ending.h"
#include "api/operation.h"
#include "codec/codec.h"
#include "codec/encode.h"
#include "http/pour.h"

/* -- output ------------------------------------------------------------------------------------ */

/*
 * Most bytes to keep while more arrive: a quarter more than the cap, so that bytes are moved
 * rarely.
 */
static size_t
most_of(const struct capture *c)
{
        return c->cap + c->cap / 4;
}

static void
drop_first(struct capture *c, size_t len)
{
        memmove(c->bytes, c->bytes + len, c->len - len);
        c->first += len;
        c->let_go += len;
        c->len -= len;
}

/*
 * Makes room for `need` bytes in total (at most most_of()). Returns -1 if there is no such room:
 * then less is kept, or nothing.
 */
static int
grow(struct capture *c, size_t need)
{
        size_t room = c->room * 2 > CAPTURE_FREE ? c->room * 2 : CAPTURE_FREE,
               counted = c->room > CAPTURE_FREE ? c->room : CAPTURE_FREE;
        char *more;

        if (need <= c->room)
                return 0;
        room = room < need ? need : room < most_of(c) ? room : most_of(c);
        if (room > counted && c->may_grow && c->may_grow(c->of, room - counted) < 0) {
                c->is_refused = c->is_strict;
                c->cap = counted / 5 * 4;
                return -1;
        }
        more = realloc(c->bytes, room);
        if (!more) {
                c->is_broken = 1;
                return -1;
        }
        c->bytes = more;
        c->room = room;
        return 0;
}

/*
 * Drops the oldest bytes if the total would exceed what is kept. Returns how many of the `len` new
 * bytes to skip.
 */
static size_t
make_place(struct capture *c, size_t len)
{
        size_t skip = len > c->cap ? len - c->cap : 0;

        if (c->len + len <= most_of(c))
                return 0;
        drop_first(c, c->len + len - skip - c->cap);
        c->first += skip; /* no earlier bytes are kept in this case */
        c->let_go += skip;
        return skip;
}

void
capture_add(struct capture *c, const void *bytes, size_t len, uint64_t offset)
{
        size_t skip;

        if (c->is_broken || c->is_refused || len == 0)
                return;
        if (offset != c->first + c->len) {
                c->let_go += c->len;
                c->missed += offset - (c->first + c->len);
                c->len = 0;
                c->first = offset;
        }
        skip = make_place(c, len);
        if (grow(c, c->len + len - skip) < 0) {
                if (c->is_broken || c->is_refused)
                        return;
                skip += make_place(c, len - skip);
                if (grow(c, c->len + len - skip) < 0)
                        return;
        }
        if (len > skip)
                memcpy(c->bytes + c->len, (const char *)bytes + skip, len - skip);
        c->len += len - skip;
}

void
capture_fini(struct capture *c)
{
        free(c->bytes);
        *c = (struct capture){ 0 };
}

/*
 * Cuts the capture to the cap. Text that would begin within a character begins with the next one.
 */
static void
trim(struct capture *c, int is_base64)
{
        size_t skip = c->len > c->cap ? c->len - c->cap : 0;

        if (!is_base64 && c->first + skip > 0)
                for (int i = 0;
                     i < 3 && skip < c->len && ((unsigned char)c->bytes[skip] & 0xc0) == 0x80; i++)
                        skip++;
        if (skip == 0)
                return;
        drop_first(c, skip);
}

/* -- members ----------------------------------------------------------------------------------- */

int
exec_view_keep(struct exec_view *v, const struct record *reply)
{
        free(v->reply);
        v->reply_len = reply->len;
        v->reply = aligned_alloc(16, (reply->len + 31) / 16 * 16);
        if (!v->reply)
                return -1;
        if (reply->len > 0)
                memcpy(v->reply, reply->bytes, reply->len);
        return 0;
}

void
exec_view_fini(struct exec_view *v)
{
        free(v->reply);
        v->reply = NULL;
        capture_fini(&v->streams[0]);
        capture_fini(&v->streams[1]);
}

static void
write_uint(struct json_writer *w, const char *name, uint64_t value)
{
        json_key(w, name);
        json_uint(w, value);
}

/* Writes a member about the end of the exec. Returns 1 if there is such a member. */
static int
write_ending(struct json_writer *w, uint16_t tag, const struct exec_view *v)
{
        struct outcome o = ending_of(&v->end);

        o.dropped_bytes += v->streams[0].let_go + v->streams[1].let_go;
        return ending_write_member(w, tag, &o);
}

/*
 * The bytes missing from this answer of a running command: over its limit, gone before the request,
 * or dropped here. After its end the box counts the first two.
 */
static uint64_t
missing(const struct exec_view *v)
{
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        uint64_t gone = record_get_uint(&reply, FIELD_STDOUT_OFFSET, 0) +
                        record_get_uint(&reply, FIELD_STDERR_OFFSET, 0);
        uint64_t dropped = record_get_uint(&reply, FIELD_DROPPED, 0), here = 0;

        for (int i = 0; i < 2; i++)
                here += v->streams[i].missed + v->streams[i].let_go;
        return (dropped > gone ? dropped - gone : 0) + here;
}

/* The places in an answer into which the bytes of the streams are inserted later. */
struct holes {
        struct pour_hole rows[POUR_HOLES];
        size_t count;
};

/* Writes an empty string and notes the hole for its bytes, which are sent later. */
static void
leave_out(struct json_writer *w, const char *name, struct capture *out, struct holes *holes,
          int is_base64)
{
        json_key(w, name);
        json_raw(w, "\"\"", 2);
        holes->rows[holes->count++] =
                (struct pour_hole){ w->len - 1, out->bytes, 0, out->len, is_base64 };
        out->bytes = NULL;
}

/* Writes a member about its output. Returns 1 if it was written. */
static int
write_output(struct json_writer *w, uint16_t tag, const char *name, struct exec_view *v,
             struct holes *holes, int is_base64)
{
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        struct capture *out = &v->streams[tag == FIELD_STDERR || tag == FIELD_STDERR_OFFSET ||
                                          tag == FIELD_STDERR_BYTES];

        if ((tag == FIELD_STDOUT || tag == FIELD_STDERR) && holes)
                leave_out(w, name, out, holes, is_base64);
        else if (tag == FIELD_STDOUT || tag == FIELD_STDERR)
                encode_member(w, name, out->bytes, out->len, is_base64);
        else if (tag == FIELD_STDOUT_OFFSET || tag == FIELD_STDERR_OFFSET)
                write_uint(w, name, out->first);
        else if (tag == FIELD_STDOUT_BYTES || tag == FIELD_STDERR_BYTES)
                write_uint(w, name,
                           out->len > 0 ? out->first + out->len : record_get_uint(&reply, tag, 0));
        else if (tag == FIELD_DROPPED)
                write_uint(w, name, missing(v));
        else
                return 0;
        return 1;
}

static int
write_known(struct json_writer *w, uint16_t tag, const char *name, struct exec_view *v,
            struct holes *holes, int is_base64)
{
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        const char *known = record_get_text(&reply, FIELD_STATE, "");

        if (tag == FIELD_EXEC && v->is_started)
                write_uint(w, name, v->started.exec);
        else if (tag == FIELD_PID && v->is_started)
                json_member_int(w, name, v->started.pid);
        else if (tag == FIELD_PORT && v->port != 0)
                write_uint(w, name, v->port);
        else if (tag == FIELD_STATE && (v->is_started || v->is_ended))
                /* the same call, repeated after the exec's end */
                json_member_text(w, name,
                                 v->is_ended || strcmp(known, "ended") == 0 ? "ended" : "running");
        else
                return (v->is_ended && write_ending(w, tag, v)) ||
                       (v->has_output && write_output(w, tag, name, v, holes, is_base64));
        return 1;
}

static void
write_view(struct json_writer *w, struct exec_view *v, struct holes *holes, int is_base64)
{
        const struct api_type *all = &api_type_exec;
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        struct record_entry entry;

        trim(&v->streams[0], is_base64);
        trim(&v->streams[1], is_base64);
        if (v->streams[0].is_broken || v->streams[1].is_broken)
                w->is_broken = true;
        json_open_map(w);
        for (size_t i = 0; i < all->count; i++) {
                const struct api_field *f = api_field(all->members[i].tag);
                int is_output = f->tag == FIELD_STDOUT || f->tag == FIELD_STDERR ||
                                f->tag == FIELD_STDOUT_OFFSET || f->tag == FIELD_STDERR_OFFSET;

                if (write_known(w, f->tag, f->name, v, holes, is_base64) ||
                    (is_output && !v->has_output) || !record_find(&reply, f->tag, &entry))
                        continue;
                if ((all->members[i].flags & PARAM_REPEATED) != 0)
                        codec_write_list(w, f->name, f->tag, &reply, is_base64);
                else
                        codec_write_member(w, f->name, &entry, is_base64);
        }
        if (v->has_output && is_base64)
                json_member_text(w, "encoding", "base64");
        json_close_map(w);
}

void
exec_view_write(struct json_writer *w, struct exec_view *v, int is_base64)
{
        write_view(w, v, NULL, is_base64);
}

void
exec_view_answer(struct exchange *x, int status, struct exec_view *v, int is_base64)
{
        struct holes holes = { .count = 0 };
        int is_long = v->has_output && v->streams[0].len + v->streams[1].len >= POUR_LEAST;
        struct json_writer w;

        json_init(&w, false);
        write_view(&w, v, is_long ? &holes : NULL, is_base64);
        if (is_long)
                pour(x, status, &w, holes.rows, holes.count);
        else
                exchange_json(x, status, &w);
}
