/*
 * proto/http2.c - follows the requests on a cleartext HTTP/2 connection (prior knowledge), and says
 * how far they may be passed on.
 *
 * Room: proto (deciding, pure). Touches: mem.
 * Theory: as for HTTP/1: the server sees the same bytes with another reader, so what RFC 9113 calls
 * malformed is refused here, and so are frames that it lets a server pass over. A header block is
 * held until it is whole, read once, and passes as a whole.
 *
 *     PREFACE --> FRAME --HEADERS--> BLOCK --END_HEADERS--> JUDGED --http2_permit()--> PERMITTED
 * --> FRAME |                                  \--trailers--------------------/
 *                   +--any other--> PAYLOAD (passes as it comes) --> FRAME
 */
#include "proto/http2.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PREFACE, FRAME, PAYLOAD, BLOCK, JUDGED, PERMITTED, BROKEN };
enum { FRAME_HEADER = 9, PRIORITY_LEN = 5 };
enum { DATA = 0, HEADERS = 1, SETTINGS = 4, CONTINUATION = 9 };
enum {
        ACK = 1u << 0,
        END_STREAM = 1u << 0,
        END_HEADERS = 1u << 2,
        PADDED = 1u << 3,
        HAS_PRIORITY = 1u << 5
};

/* What a header block says. */
enum {
        SAID_METHOD = 1u << 0,
        SAID_SCHEME = 1u << 1,
        SAID_PATH = 1u << 2,
        SAID_AUTHORITY = 1u << 3,
        SAID_PROTOCOL = 1u << 4,
        SAID_HOST = 1u << 5,
        SAID_LENGTH = 1u << 6,
        SAID_REGULAR = 1u << 7,
        SAID_PSEUDO = 1u << 8
};

struct block {
        unsigned said;
        size_t count, size;
        bool is_trailer;
        struct http2_request request;
        struct authority host;
        bool is_path_star;
};

struct frame {
        size_t len;
        uint8_t type, flags;
        uint32_t stream;
};

struct http2 {
        nghttp2_hd_inflater *inflater;
        struct http2_request request;
        int state;
        bool has_settings;
        enum http2_verdict verdict; /* of a broken one */
        uint32_t last_stream;
        uint64_t payload_left;
        size_t block_len; /* bytes of whole frames of the held block */
        unsigned block_frames;
};

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static int
malformed(struct error *e, const char *reason, const char *message)
{
        return fail_at(e, ERROR_REQUEST_MALFORMED, NULL, reason, "%s", message);
}

struct http2 *
http2_new(void)
{
        struct http2 *j = calloc(1, sizeof *j);

        if (j && (nghttp2_hd_inflate_new(&j->inflater) != 0 ||
                  nghttp2_hd_inflate_change_table_size(j->inflater, HTTP2_TABLE_MAX) != 0)) {
                http2_free(j);
                return NULL;
        }
        return j;
}

void
http2_free(struct http2 *j)
{
        if (!j)
                return;
        if (j->inflater)
                nghttp2_hd_inflate_del(j->inflater);
        free(j);
}

const struct http2_request *
http2_request(const struct http2 *j)
{
        return &j->request;
}

/* -- fields ------------------------------------------------------------------------------------ */

static bool
is(const nghttp2_nv *f, const char *name)
{
        return f->namelen == strlen(name) && memcmp(f->name, name, f->namelen) == 0;
}

static bool
has_value(const nghttp2_nv *f, const char *value)
{
        return f->valuelen == strlen(value) && memcmp(f->value, value, f->valuelen) == 0;
}

/* A token without capitals. */
static bool
is_field_name(const uint8_t *name, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
                      (name[i] != '\0' && strchr("!#$%&'*+-.^_`|~", name[i]))))
                        return false;
        return len > 0;
}

static bool
is_blank(uint8_t c)
{
        return c == ' ' || c == '\t';
}

static bool
is_field_value(const uint8_t *value, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if ((value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
                        return false;
        return len == 0 || (!is_blank(value[0]) && !is_blank(value[len - 1]));
}

static bool
is_path(const nghttp2_nv *f)
{
        for (size_t i = 0; i < f->valuelen; i++)
                if (f->value[i] <= ' ' || f->value[i] > '~' || f->value[i] == '#')
                        return false;
        return f->valuelen > 0 && (f->value[0] == '/' || has_value(f, "*"));
}

static bool
is_length(const nghttp2_nv *f)
{
        for (size_t i = 0; i < f->valuelen; i++)
                if (f->value[i] < '0' || f->value[i] > '9')
                        return false;
        return f->valuelen > 0 && f->valuelen <= 18;
}

static bool
method_read(struct block *b, const nghttp2_nv *f)
{
        if (f->valuelen == 0 || f->valuelen >= sizeof b->request.method)
                return false;
        for (size_t i = 0; i < f->valuelen; i++)
                if ((f->value[i] < 'A' || f->value[i] > 'Z') && f->value[i] != '-')
                        return false;
        memcpy(b->request.method, f->value, f->valuelen);
        return true;
}

static bool
path_read(struct block *b, const nghttp2_nv *f)
{
        b->is_path_star = has_value(f, "*");
        return is_path(f);
}

static bool
scheme_read(struct block *b, const nghttp2_nv *f)
{
        return has_value(f, "http");
}

static bool
authority_take(struct block *b, const nghttp2_nv *f)
{
        return authority_read((const char *)f->value, f->valuelen, &b->request.host);
}

static bool
host_take(struct block *b, const nghttp2_nv *f)
{
        return authority_read((const char *)f->value, f->valuelen, &b->host);
}

static bool
any_value(struct block *b, const nghttp2_nv *f)
{
        return f->valuelen > 0;
}

static bool
length_read(struct block *b, const nghttp2_nv *f)
{
        return is_length(f);
}

static bool
te_read(struct block *b, const nghttp2_nv *f)
{
        return has_value(f, "trailers");
}

static bool
refused(struct block *b, const nghttp2_nv *f)
{
        return false;
}

/* Fields that frame, name or route; `said`: it may stand once. Those of a connection have no place
 * in HTTP/2 (RFC 9113 8.2.2): a server that speaks HTTP/1 behind would believe them. */
static const struct {
        const char *name;
        unsigned said;
        bool (*read)(struct block *b, const nghttp2_nv *f);
} known[] = {
        { ":method", SAID_METHOD, method_read },
        { ":scheme", SAID_SCHEME, scheme_read },
        { ":path", SAID_PATH, path_read },
        { ":authority", SAID_AUTHORITY, authority_take },
        { ":protocol", SAID_PROTOCOL, any_value },
        { "host", SAID_HOST, host_take },
        { "content-length", SAID_LENGTH, length_read },
        { "te", 0, te_read },
        { "connection", 0, refused },
        { "keep-alive", 0, refused },
        { "proxy-connection", 0, refused },
        { "transfer-encoding", 0, refused },
        { "upgrade", 0, refused },
        { "http2-settings", 0, refused },
};

static int
known_read(struct block *b, const nghttp2_nv *f, struct error *e)
{
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
                if (!is(f, known[i].name))
                        continue;
                if (b->is_trailer && known[i].said != 0)
                        return malformed(e, "trailer",
                                         "a trailer holds a field that frames the message or names "
                                         "its target");
                if ((b->said & known[i].said) != 0)
                        return malformed(e, "repeated", "a field that may stand once stands twice");
                b->said |= known[i].said;
                return known[i].read(b, f) ? 0
                                           : malformed(e, "field", "a field holds what it may not");
        }
        return f->name[0] == ':' ? malformed(e, "pseudo", "a pseudo field is not known") : 0;
}

static int
field_read(struct block *b, const nghttp2_nv *f, struct error *e)
{
        bool is_pseudo = f->namelen > 0 && f->name[0] == ':';

        b->size += f->namelen + f->valuelen + 32;
        if (++b->count > HTTP2_FIELDS_MAX || b->size > HTTP2_LIST_MAX)
                return fail(e, ERROR_HEADERS_TOO_LARGE,
                            "the headers are larger than %d bytes, or more than %d", HTTP2_LIST_MAX,
                            HTTP2_FIELDS_MAX);
        if (!is_field_name(f->name + is_pseudo, f->namelen - is_pseudo) ||
            !is_field_value(f->value, f->valuelen))
                return malformed(e, "field",
                                 "a field's name or value holds a byte that it may not");
        if (is_pseudo && (b->is_trailer || (b->said & SAID_REGULAR) != 0))
                return malformed(e, "pseudo",
                                 "a pseudo field is in a trailer, or follows a regular field");
        b->said |= is_pseudo ? SAID_PSEUDO : SAID_REGULAR;
        return known_read(b, f, e);
}

/* -- header blocks ----------------------------------------------------------------------------- */

static int
inflate(struct http2 *j, struct block *b, const uint8_t *in, size_t len, bool is_final,
        struct error *e)
{
        int flags = 0;

        for (;;) {
                nghttp2_nv f;
                ssize_t used = nghttp2_hd_inflate_hd2(j->inflater, &f, &flags, in, len, is_final);

                if (used < 0)
                        return used == NGHTTP2_ERR_NOMEM
                                       ? fail(e, ERROR_NO_MEMORY, "no memory for headers")
                                       : malformed(e, "hpack", "a header block cannot be unpacked");
                in += used;
                len -= (size_t)used;
                if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                        if (field_read(b, &f, e) < 0)
                                return -1;
                        continue;
                }
                if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0)
                        nghttp2_hd_inflate_end_headers(j->inflater);
                if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0 || len == 0)
                        return 0;
        }
}

static struct frame
frame_of(const uint8_t *at)
{
        return (struct frame){ .len = (size_t)at[0] << 16 | (size_t)at[1] << 8 | at[2],
                               .type = at[3],
                               .flags = at[4],
                               .stream = (uint32_t)at[5] << 24 | (uint32_t)at[6] << 16 |
                                         (uint32_t)at[7] << 8 | at[8] };
}

/* The part of a frame that belongs to the block: without padding and priority. */
static int
fragment_find(const struct frame *f, const uint8_t **at, size_t *len, struct error *e)
{
        size_t before = 0, behind = 0;

        if (f->type == HEADERS && (f->flags & PADDED) != 0) {
                if (*len < 1)
                        return malformed(e, "padding", "there is no room for the padding");
                behind = (*at)[0];
                before = 1;
        }
        if (f->type == HEADERS && (f->flags & HAS_PRIORITY) != 0)
                before += PRIORITY_LEN;
        if (before + behind > *len)
                return malformed(e, "padding", "there is more padding than frame");
        *at += before;
        *len -= before + behind;
        return 0;
}

static int
block_inflate(struct http2 *j, const uint8_t *bytes, struct block *b, struct error *e)
{
        for (size_t at = 0; at < j->block_len;) {
                struct frame f = frame_of(bytes + at);
                const uint8_t *fragment = bytes + at + FRAME_HEADER;
                size_t len = f.len;

                if (fragment_find(&f, &fragment, &len, e) < 0)
                        return -1;
                at += FRAME_HEADER + f.len;
                if (inflate(j, b, fragment, len, at == j->block_len, e) < 0)
                        return -1;
        }
        return 0;
}

static bool
is_same(const struct authority *a, const struct authority *b)
{
        size_t len = strlen(a->host);

        return a->port == b->port && len == strlen(b->host) &&
               strncasecmp(a->host, b->host, len) == 0;
}

/* What a request has to hold, once all its fields are read. */
static enum http2_verdict
request_check(struct block *b, struct error *e)
{
        if (strcmp(b->request.method, "CONNECT") == 0) {
                (void)malformed(e, "connect", "a tunnel is asked for");
                return HTTP2_CONNECT;
        }
        if ((b->said & (SAID_METHOD | SAID_SCHEME | SAID_PATH | SAID_PROTOCOL)) !=
            (SAID_METHOD | SAID_SCHEME | SAID_PATH)) {
                (void)malformed(e, "pseudo", "a request has :method, :scheme and :path");
                return HTTP2_MALFORMED;
        }
        if (b->is_path_star && strcmp(b->request.method, "OPTIONS") != 0) {
                (void)malformed(e, "target", "only OPTIONS asks for *");
                return HTTP2_MALFORMED;
        }
        if ((b->said & (SAID_AUTHORITY | SAID_HOST)) == 0 ||
            ((b->said & SAID_AUTHORITY) != 0 && (b->said & SAID_HOST) != 0 &&
             !is_same(&b->request.host, &b->host))) {
                (void)malformed(e, "host", "there is no :authority, or host is another");
                return HTTP2_NO_HOST;
        }
        if ((b->said & SAID_AUTHORITY) == 0)
                b->request.host = b->host;
        return HTTP2_REQUEST;
}

static enum http2_verdict
refuse(struct http2 *j, enum http2_verdict verdict)
{
        j->state = BROKEN;
        j->verdict = verdict;
        return verdict;
}

static enum http2_verdict
block_judge(struct http2 *j, const uint8_t *bytes, struct error *e)
{
        struct frame first = frame_of(bytes);
        struct block b = { .is_trailer = first.stream <= j->last_stream };
        enum http2_verdict verdict;

        if (b.is_trailer && (first.flags & END_STREAM) == 0) {
                (void)malformed(e, "trailer", "headers behind a body do not end their stream");
                return refuse(j, HTTP2_MALFORMED);
        }
        if (block_inflate(j, bytes, &b, e) < 0)
                return refuse(j, e->code == ERROR_NO_MEMORY ? HTTP2_NO_MEMORY : HTTP2_MALFORMED);
        if (b.is_trailer) {
                j->state = PERMITTED;
                return HTTP2_MORE;
        }
        verdict = request_check(&b, e);
        if (verdict != HTTP2_REQUEST)
                return refuse(j, verdict);
        j->last_stream = b.request.stream = first.stream;
        j->request = b.request;
        j->state = JUDGED;
        return verdict;
}

/* One more frame of the held block, if it is there. 1: taken; 0: more is needed; -1: malformed. */
static int
block_frame_take(struct http2 *j, const uint8_t *bytes, size_t len, uint8_t *ret_flags,
                 struct error *e)
{
        struct frame f;

        if (len - j->block_len < FRAME_HEADER)
                return 0;
        f = frame_of(bytes + j->block_len);
        if (f.type != (j->block_frames == 0 ? HEADERS : CONTINUATION) ||
            (j->block_frames > 0 && f.stream != frame_of(bytes).stream))
                return malformed(e, "continuation", "a header block is interrupted");
        if (f.len > HTTP2_FRAME_MAX || j->block_len + FRAME_HEADER + f.len > HTTP2_BLOCK_MAX ||
            j->block_frames == HTTP2_FRAMES_MAX)
                return fail(
                        e, ERROR_HEADERS_TOO_LARGE,
                        "a header block is longer than %d bytes, or comes in more than %d frames",
                        HTTP2_BLOCK_MAX, HTTP2_FRAMES_MAX);
        if (len - j->block_len < FRAME_HEADER + f.len)
                return 0;
        j->block_len += FRAME_HEADER + f.len;
        j->block_frames++;
        *ret_flags = f.flags;
        return 1;
}

static enum http2_verdict
block_take(struct http2 *j, const uint8_t *bytes, size_t len, struct error *e)
{
        for (;;) {
                uint8_t flags = 0;
                int taken = block_frame_take(j, bytes, len, &flags, e);

                if (taken < 0)
                        return refuse(j, HTTP2_MALFORMED);
                if (taken == 0)
                        return HTTP2_MORE;
                if ((flags & END_HEADERS) != 0)
                        return block_judge(j, bytes, e);
        }
}

/* -- frames ------------------------------------------------------------------------------------ */

enum { ON_STREAM = 1, ON_CONNECTION, ON_EITHER };

/* What a client may send besides header blocks: its length (least, most, a multiple of), and where.
 * Others are refused. */
static const struct {
        bool may;
        size_t least, most, unit;
        int where;
} frames[] = {
        [DATA] = { true, 0, 0xffffff, 1, ON_STREAM },
        [2] = { true, 5, 5, 1, ON_STREAM }, /* PRIORITY */
        [3] = { true, 4, 4, 1, ON_STREAM }, /* RST_STREAM */
        [SETTINGS] = { true, 0, HTTP2_FRAME_MAX, 6, ON_CONNECTION },
        [6] = { true, 8, 8, 1, ON_CONNECTION },                /* PING */
        [7] = { true, 8, HTTP2_FRAME_MAX, 1, ON_CONNECTION },  /* GOAWAY */
        [8] = { true, 4, 4, 1, ON_EITHER },                    /* WINDOW_UPDATE */
        [16] = { true, 4, HTTP2_FRAME_MAX, 1, ON_CONNECTION }, /* PRIORITY_UPDATE, RFC 9218 */
};

static int
frame_check(struct http2 *j, const struct frame *f, struct error *e)
{
        if (f->stream >> 31 != 0)
                return malformed(e, "frame", "the reserved bit of a stream is set");
        if (!j->has_settings && (f->type != SETTINGS || (f->flags & ACK) != 0))
                return malformed(e, "settings", "the first frame is not SETTINGS");
        if (f->type == HEADERS)
                return f->stream % 2 == 1
                               ? 0
                               : malformed(e, "frame",
                                           "a request on a stream that a client cannot open");
        if (f->type >= sizeof frames / sizeof *frames || !frames[f->type].may)
                return malformed(e, "frame", "a frame of this type has no place here");
        if (f->len < frames[f->type].least || f->len > frames[f->type].most ||
            f->len % frames[f->type].unit != 0 ||
            (f->type == SETTINGS && (f->flags & ACK) != 0 && f->len > 0))
                return malformed(e, "frame", "a frame has a length that its type does not permit");
        if (frames[f->type].where != ON_EITHER &&
            (frames[f->type].where == ON_STREAM) != (f->stream != 0))
                return malformed(e, "frame", "a frame is on a stream where it may not be");
        if (f->type == DATA && (f->stream > j->last_stream || f->stream % 2 == 0))
                return malformed(e, "frame", "a body for a request that was not made");
        return 0;
}

/* At the beginning of a frame. MORE with the state unchanged: its header is not there yet. */
static enum http2_verdict
frame_take(struct http2 *j, const uint8_t *bytes, size_t len, struct error *e)
{
        struct frame f;

        if (len < FRAME_HEADER)
                return HTTP2_MORE;
        f = frame_of(bytes);
        if (frame_check(j, &f, e) < 0)
                return refuse(j, HTTP2_MALFORMED);
        j->has_settings = true;
        j->block_len = 0;
        j->block_frames = 0;
        j->payload_left = FRAME_HEADER + f.len;
        j->state = f.type == HEADERS ? BLOCK : PAYLOAD;
        return HTTP2_MORE;
}

static enum http2_verdict
preface_take(struct http2 *j, const uint8_t *bytes, size_t len, size_t *ret_pass, struct error *e)
{
        size_t most = len < sizeof preface - 1 ? len : sizeof preface - 1;

        if (most > 0 && memcmp(bytes, preface, most) != 0) {
                (void)malformed(e, "preface",
                                "the connection does not begin with the preface of HTTP/2");
                return refuse(j, HTTP2_MALFORMED);
        }
        if (most == sizeof preface - 1) {
                *ret_pass = most;
                j->state = FRAME;
        }
        return HTTP2_MORE;
}

/* One step; MORE with neither state nor *ret_pass changed ends the walk. */
static enum http2_verdict
step(struct http2 *j, const uint8_t *bytes, size_t len, size_t *ret_pass, struct error *e)
{
        size_t here = len - *ret_pass;

        switch (j->state) {
        case PREFACE:
                return preface_take(j, bytes, len, ret_pass, e);
        case FRAME:
                return frame_take(j, bytes + *ret_pass, here, e);
        case PAYLOAD:
                here = here < j->payload_left ? here : (size_t)j->payload_left;
                *ret_pass += here;
                j->payload_left -= here;
                j->state = j->payload_left == 0 ? FRAME : PAYLOAD;
                return HTTP2_MORE;
        case BLOCK:
                return block_take(j, bytes + *ret_pass, here, e);
        case JUDGED:
                return HTTP2_REQUEST;
        case PERMITTED:
                if (here >= j->block_len) {
                        *ret_pass += j->block_len;
                        j->state = FRAME;
                }
                return HTTP2_MORE;
        default:
                (void)malformed(e, "broken", "the connection is broken");
                return j->verdict;
        }
}

enum http2_verdict
http2_take(struct http2 *j, const uint8_t *bytes, size_t len, size_t *ret_pass, struct error *e)
{
        *ret_pass = 0;
        for (;;) {
                int state = j->state;
                size_t pass = *ret_pass;
                enum http2_verdict verdict = step(j, bytes, len, ret_pass, e);

                if (verdict != HTTP2_MORE || (j->state == state && *ret_pass == pass))
                        return verdict;
        }
}

void
http2_permit(struct http2 *j)
{
        if (j->state == JUDGED)
                j->state = PERMITTED;
}
