/*
 * proto/http_head.c - what may be an HTTP message at all.
 *
 * Room: proto (deciding, pure). Touches: nothing; it only looks.
 * Theory: G01. One pass finds bytes that no head may contain, the second reads lines; both refuse
 * what RFC 9112 merely discourages. A message that two readers could frame in two ways never gets
 * as far as a parser.
 */
#include "proto/http_head.h"

#include <string.h>
#include <strings.h>

static int
malformed(struct error *e, const char *reason, const char *message)
{
        return fail_at(e, ERROR_REQUEST_MALFORMED, NULL, reason, "%s", message);
}

/* -- the bytes of a head ----------------------------------------------------------------------- */

static int
too_long(const char *bytes, size_t len, struct error *e)
{
        const char *first_end = memchr(bytes, '\r', len);

        if (!first_end || (size_t)(first_end - bytes) > HTTP_TARGET_MAX + 32)
                return fail(e, ERROR_TARGET_TOO_LONG, "the target is longer than %d bytes",
                            HTTP_TARGET_MAX);
        return fail(e, ERROR_HEADERS_TOO_LARGE, "the head is longer than %d bytes", HTTP_HEAD_MAX);
}

int
http_head_scan(const char *bytes, size_t len, size_t *at, size_t *ret_len, struct error *e)
{
        size_t i = *at;

        for (; i < len && i < HTTP_HEAD_MAX; i++) {
                unsigned char byte = (unsigned char)bytes[i];

                if (byte == '\r') {
                        if (i + 1 >= len)
                                break;
                        if (bytes[i + 1] != '\n')
                                return malformed(e, "bare_cr",
                                                 "a carriage return has no line feed after it");
                        if (i == 0)
                                return malformed(e, "empty_line",
                                                 "the request begins with an empty line");
                        if (i >= 2 && bytes[i - 1] == '\n') {
                                *ret_len = i + 2;
                                return i + 2 <= HTTP_HEAD_MAX ? 1 : too_long(bytes, i, e);
                        }
                        i++;
                } else if (byte == '\n') {
                        return malformed(e, "bare_lf",
                                         "a line feed has no carriage return before it");
                } else if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
                        return malformed(e, "control", "the head holds a control byte");
                }
        }
        *at = i;
        return i >= HTTP_HEAD_MAX ? too_long(bytes, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, e)
                                  : 0;
}

/* -- words ------------------------------------------------------------------------------------- */

static int
is_token_byte(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static int
is_token(struct http_text t)
{
        for (size_t i = 0; i < t.len; i++)
                if (!is_token_byte(t.at[i]))
                        return 0;
        return t.len > 0;
}

int
http_text_is(struct http_text t, const char *word)
{
        return t.len == strlen(word) && strncasecmp(t.at, word, t.len) == 0;
}

static struct http_text
trimmed(struct http_text t)
{
        while (t.len > 0 && (t.at[0] == ' ' || t.at[0] == '\t')) {
                t.at++;
                t.len--;
        }
        while (t.len > 0 && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
                t.len--;
        return t;
}

int
http_list_has(struct http_text list, const char *word)
{
        while (list.len > 0) {
                const char *comma = memchr(list.at, ',', list.len);
                struct http_text one = { list.at, comma ? (size_t)(comma - list.at) : list.len };

                if (http_text_is(trimmed(one), word))
                        return 1;
                list.at += one.len + (comma != NULL);
                list.len -= one.len + (comma != NULL);
        }
        return 0;
}

const struct http_field *
http_head_find(const struct http_head *h, const char *name)
{
        for (size_t i = 0; i < h->field_count; i++)
                if (http_text_is(h->fields[i].name, name))
                        return &h->fields[i];
        return NULL;
}

/* -- the first line ---------------------------------------------------------------------------- */

static const struct {
        const char *name;
        enum http_method method;
} methods[] = {
        { "GET", HTTP_METHOD_GET },     { "POST", HTTP_METHOD_POST },
        { "PUT", HTTP_METHOD_PUT },     { "DELETE", HTTP_METHOD_DELETE },
        { "HEAD", HTTP_METHOD_HEAD },   { "OPTIONS", HTTP_METHOD_OPTIONS },
        { "PATCH", HTTP_METHOD_PATCH },
};

const char *
http_method_name(enum http_method m)
{
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
                if (methods[i].method == m)
                        return methods[i].name;
        return "";
}

static int
read_version(struct http_text t, struct http_head *h, struct error *e)
{
        if (t.len != 8 || memcmp(t.at, "HTTP/", 5) != 0 || t.at[6] != '.' || t.at[5] < '0' ||
            t.at[5] > '9' || t.at[7] < '0' || t.at[7] > '9')
                return malformed(e, "version", "the version is not written as HTTP/1.1");
        if (t.at[5] != '1' || t.at[7] > '1')
                return fail(e, ERROR_HTTP_VERSION, "only HTTP/1.1 and HTTP/1.0 are spoken here");
        h->minor = t.at[7] - '0';
        return 0;
}

static int
read_method(struct http_text t, unsigned allowed, struct http_head *h, struct error *e)
{
        if (!is_token(t))
                return malformed(e, "method", "the request does not begin with a method");
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
                if (strlen(methods[i].name) == t.len && memcmp(methods[i].name, t.at, t.len) == 0)
                        h->method = methods[i].method;
        h->method_text = t;
        if ((h->method & allowed) == 0 && (allowed & HTTP_METHOD_ANY) == 0)
                return fail(e, ERROR_METHOD_NOT_ALLOWED, "this method is not served");
        return 0;
}

static int
read_target(struct http_text t, unsigned allowed, struct http_head *h, struct error *e)
{
        if (t.len > HTTP_TARGET_MAX)
                return fail(e, ERROR_TARGET_TOO_LONG, "the target is longer than %d bytes",
                            HTTP_TARGET_MAX);
        if (t.len == 0 || (t.at[0] != '/' && (allowed & HTTP_METHOD_ANY) == 0))
                return malformed(e, "target", "the target does not begin with a slash");
        for (size_t i = 0; i < t.len; i++)
                if (t.at[i] <= ' ' || t.at[i] > '~' || strchr("#\"<>\\^`{|}", t.at[i]) != NULL)
                        return malformed(e, "target",
                                         "a byte of the target is not percent-encoded");
        h->target = t;
        return 0;
}

static int
read_request_line(struct http_text line, unsigned allowed, struct http_head *h, struct error *e)
{
        const char *first = memchr(line.at, ' ', line.len);
        const char *second =
                first ? memchr(first + 1, ' ', line.len - (size_t)(first + 1 - line.at)) : NULL;

        if (!second)
                return malformed(e, "request_line", "the first line is not METHOD TARGET VERSION");
        if (read_version(
                    (struct http_text){ second + 1, line.len - (size_t)(second + 1 - line.at) }, h,
                    e) < 0 ||
            read_method((struct http_text){ line.at, (size_t)(first - line.at) }, allowed, h, e) <
                    0)
                return -1;
        return read_target((struct http_text){ first + 1, (size_t)(second - first - 1) }, allowed,
                           h, e);
}

static int
read_status_line(struct http_text line, struct http_head *h, struct error *e)
{
        if (line.len < 12 || read_version((struct http_text){ line.at, 8 }, h, e) < 0 ||
            line.at[8] != ' ' || (line.len > 12 && line.at[12] != ' '))
                return malformed(e, "status_line", "the first line is not VERSION STATUS REASON");
        for (int i = 9; i < 12; i++) {
                if (line.at[i] < '0' || line.at[i] > '9')
                        return malformed(e, "status_line", "the status is no number");
                h->status = h->status * 10 + (line.at[i] - '0');
        }
        return h->status >= 100 && h->status <= 599
                       ? 0
                       : malformed(e, "status_line", "the status is none of 100 to 599");
}

/* -- fields ------------------------------------------------------------------------------------ */

/* Fields that may stand once only, because two readers would each believe another. */
static const char *const singles[] = {
        "host",
        "content-length",
        "transfer-encoding",
        "content-type",
        "authorization",
        "origin",
        "expect",
        "upgrade",
        "range",
        "sec-fetch-site",
        "idempotency-key",
        "x-carrel-token",
        "content-encoding",
};

static int
read_field(struct http_text line, struct http_head *h, struct error *e)
{
        const char *colon = memchr(line.at, ':', line.len);
        struct http_field f;

        if (h->field_count == HTTP_FIELDS_MAX)
                return fail(e, ERROR_HEADERS_TOO_LARGE, "there are more than %d headers",
                            HTTP_FIELDS_MAX);
        if (line.at[0] == ' ' || line.at[0] == '\t')
                return malformed(e, "fold", "a header's line begins with a blank");
        if (!colon)
                return malformed(e, "no_colon", "a header's line has no colon");
        f.name = (struct http_text){ line.at, (size_t)(colon - line.at) };
        f.value = trimmed((struct http_text){ colon + 1, line.len - f.name.len - 1 });
        if (!is_token(f.name))
                return malformed(e, "name", "a header's name is no token");
        for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
                if (http_text_is(f.name, singles[i]) && http_head_find(h, singles[i]))
                        return fail_at(e, ERROR_REQUEST_MALFORMED, singles[i], "repeated",
                                       "the header %s stands twice", singles[i]);
        h->fields[h->field_count++] = f;
        return 0;
}

static int
read_length(struct http_text t, uint64_t *ret, struct error *e)
{
        if (t.len == 0 || t.len > 18)
                return malformed(e, "content_length",
                                 "Content-Length is no number of 1 to 18 digits");
        *ret = 0;
        for (size_t i = 0; i < t.len; i++) {
                if (t.at[i] < '0' || t.at[i] > '9')
                        return malformed(e, "content_length",
                                         "Content-Length holds something that is no digit");
                *ret = *ret * 10 + (uint64_t)(t.at[i] - '0');
        }
        return 0;
}

static int
read_framing(struct http_head *h, struct error *e)
{
        const struct http_field *length = http_head_find(h, "content-length"),
                                *coding = http_head_find(h, "transfer-encoding");

        if (coding && (length || h->minor == 0))
                return malformed(e, "framing",
                                 length ? "Content-Length and Transfer-Encoding stand together"
                                        : "HTTP/1.0 has no Transfer-Encoding");
        if (coding && !http_text_is(coding->value, "chunked"))
                return malformed(e, "transfer_encoding", "the only Transfer-Encoding is chunked");
        if (coding) {
                h->framing = HTTP_CHUNKED;
                return 0;
        }
        if (!length)
                return 0;
        if (read_length(length->value, &h->length, e) < 0)
                return -1;
        h->framing = h->length > 0 ? HTTP_LENGTH : HTTP_NO_BODY;
        return 0;
}

static int
read_connection(struct http_head *h, struct error *e)
{
        int keeps = h->minor == 1;

        for (size_t i = 0; i < h->field_count; i++) {
                if (!http_text_is(h->fields[i].name, "connection"))
                        continue;
                if (http_list_has(h->fields[i].value, "close"))
                        h->is_last = 1;
                if (http_list_has(h->fields[i].value, "keep-alive"))
                        keeps = 1;
                if (http_list_has(h->fields[i].value, "upgrade"))
                        h->wants_upgrade = 1;
                if (http_list_has(h->fields[i].value, "content-length") ||
                    http_list_has(h->fields[i].value, "transfer-encoding") ||
                    http_list_has(h->fields[i].value, "host"))
                        return malformed(e, "connection",
                                         "Connection names a header that frames the message");
        }
        h->is_last |= !keeps;
        return 0;
}

/* A server that does not take blanks away as RFC 9112 has it would frame the message otherwise, or
 * find another host: one blank before the value is all there may be. */
static int
check_blanks(const struct http_head *h, struct error *e)
{
        static const char *const names[] = { "host", "content-length", "transfer-encoding" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const struct http_field *f = http_head_find(h, names[i]);
                const char *begin = f ? f->name.at + f->name.len + 1 : NULL;

                if (f && f->value.len > 0 &&
                    (f->value.at[f->value.len] != '\r' || f->value.at > begin + 1 ||
                     *begin == '\t'))
                        return malformed(
                                e, "blanks",
                                "a header that frames the message has blanks around its value");
        }
        return 0;
}

/* What only requests have to hold. */
static int
read_request_fields(struct http_head *h, struct error *e)
{
        const struct http_field *host = http_head_find(h, "host"),
                                *expect = http_head_find(h, "expect");

        if (check_blanks(h, e) < 0)
                return -1;
        if (host ? host->value.len == 0
                 : h->method != 0 || !http_text_is(h->method_text, "CONNECT"))
                return malformed(e, "host", "there is no Host");
        if (expect && !http_text_is(expect->value, "100-continue"))
                return fail(e, ERROR_EXPECTATION_FAILED, "this expectation is not met here");
        h->wants_continue = expect != NULL && h->framing != HTTP_NO_BODY && h->minor == 1;
        return 0;
}

static void
answer_framing(struct http_head *h)
{
        if (h->status < 200 || h->status == 204 || h->status == 304)
                h->framing = HTTP_NO_BODY;
        else if (h->framing == HTTP_NO_BODY && !http_head_find(h, "content-length"))
                h->framing = HTTP_UNTIL_CLOSE;
}

int
http_head_read(const char *bytes, size_t len, unsigned allowed, struct http_head *ret,
               struct error *e)
{
        const char *at = bytes, *end = bytes + len - 2; /* the empty line */
        int is_first = 1;

        memset(ret, 0, offsetof(struct http_head, fields));
        ret->field_count = 0;
        memset(&ret->framing, 0, sizeof *ret - offsetof(struct http_head, framing));
        ret->len = len;
        for (; at < end; is_first = 0) {
                const char *cr = memchr(at, '\r', (size_t)(end - at));
                struct http_text line = { at, cr ? (size_t)(cr - at) : (size_t)(end - at) };

                if (!cr || line.len == 0)
                        return malformed(e, "line", "a line of the head is empty");
                if ((!is_first      ? read_field(line, ret, e)
                     : allowed != 0 ? read_request_line(line, allowed, ret, e)
                                    : read_status_line(line, ret, e)) < 0)
                        return -1;
                at = cr + 2;
        }
        if (is_first)
                return malformed(e, "line", "there is no first line");
        if (read_framing(ret, e) < 0 || read_connection(ret, e) < 0)
                return -1;
        if (allowed != 0)
                return read_request_fields(ret, e);
        answer_framing(ret);
        return 0;
}

/* -- bodies ------------------------------------------------------------------------------------ */

/*
 *   SIZE --CR--> SIZE_LF --LF--> DATA (left > 0) --> DATA_CR --> DATA_LF --> SIZE
 *                              \-> END_CR (size 0) --> END_LF --> over
 */
enum { SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, END_CR, END_LF };

enum { DIGITS_MAX = 8 }; /* a chunk of 4 GiB is large enough */

void
http_body_init(struct http_body *b, const struct http_head *h)
{
        *b = (struct http_body){ .framing = h->framing,
                                 .left = h->framing == HTTP_LENGTH ? h->length : 0,
                                 .is_over = h->framing == HTTP_NO_BODY };
}

static int
take_size_byte(struct http_body *b, char byte, struct error *e)
{
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;

        if (byte == '\r' && b->digits > 0) {
                b->state = SIZE_LF;
                return 0;
        }
        if (digit < 0 || b->digits == DIGITS_MAX)
                return malformed(e, "chunk_size",
                                 "a chunk's size is not 1 to 8 hexadecimal digits");
        b->left = b->left * 16 + (unsigned)digit;
        b->digits++;
        return 0;
}

/* The bytes that must always be the same, and what follows them. */
static int
take_fixed_byte(struct http_body *b, char byte, struct error *e)
{
        static const struct {
                char want;
                int next;
        } fixed[] = {
                [SIZE_LF] = { '\n', DATA },  [DATA_CR] = { '\r', DATA_LF },
                [DATA_LF] = { '\n', SIZE },  [END_CR] = { '\r', END_LF },
                [END_LF] = { '\n', END_LF },
        };

        if (byte != fixed[b->state].want)
                return malformed(e, "chunk",
                                 b->state == END_CR ? "trailers are not taken"
                                                    : "a chunk does not end where its size says");
        if (b->state == END_LF)
                b->is_over = 1;
        b->state = b->state == SIZE_LF && b->left == 0 ? END_CR : fixed[b->state].next;
        if (b->state == SIZE)
                b->digits = 0;
        return 0;
}

static int
take_chunks(struct http_body *b, const char *bytes, size_t len, size_t *ret_taken, struct error *e)
{
        size_t i = 0;

        while (i < len && !b->is_over) {
                if (b->state == DATA) {
                        size_t here = len - i < b->left ? len - i : (size_t)b->left;

                        b->left -= here;
                        i += here;
                        if (b->left == 0)
                                b->state = DATA_CR;
                } else if ((b->state == SIZE ? take_size_byte(b, bytes[i], e)
                                             : take_fixed_byte(b, bytes[i], e)) < 0) {
                        return -1;
                } else {
                        i++;
                }
        }
        *ret_taken = i;
        return 0;
}

int
http_body_take(struct http_body *b, const char *bytes, size_t len, size_t *ret_taken,
               struct error *e)
{
        *ret_taken = 0;
        if (b->is_over)
                return 0;
        if (b->framing == HTTP_CHUNKED)
                return take_chunks(b, bytes, len, ret_taken, e);
        *ret_taken = len;
        if (b->framing == HTTP_LENGTH) {
                *ret_taken = len < b->left ? len : (size_t)b->left;
                b->left -= *ret_taken;
                b->is_over = b->left == 0;
        }
        return 0;
}
