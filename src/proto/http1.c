/*
 * proto/http1.c - follows the requests on a plain HTTP/1 connection, and says how far they may be
 * passed on.
 *
 * Room: proto (deciding, pure). Touches: mem.
 * Theory: the server behind sees the same bytes with another reader, so whatever two readers could
 * frame in two ways is refused here (http_head.h), and llhttp is asked about every message as well.
 * A message that is refused in its middle is passed on up to the byte that broke it: what passes
 * does not depend on how it was cut.
 */
#include "proto/http1.h"

#include <string.h>

enum { HEAD, JUDGED, PERMITTED, BODY, WAITS, TUNNEL, BROKEN };

static int
malformed(struct error *e, const char *reason, const char *message)
{
        return fail_at(e, ERROR_REQUEST_MALFORMED, NULL, reason, "%s", message);
}

void
http1_init(struct http1 *j)
{
        memset(j, 0, sizeof *j);
        j->state = HEAD;
}

/* -- heads ------------------------------------------------------------------------------------- */

static bool
is_same_host(const struct authority *a, const struct authority *b)
{
        return http_text_is((struct http_text){ a->host, strlen(a->host) }, b->host);
}

/* "http://authority/..." */
static int
absolute_read(struct http_text t, struct http1_request *r, struct error *e)
{
        size_t scheme = t.len > 7 && http_text_is((struct http_text){ t.at, 7 }, "http://")    ? 7
                        : t.len > 8 && http_text_is((struct http_text){ t.at, 8 }, "https://") ? 8
                                                                                               : 0,
               len = 0;

        if (scheme == 0)
                return malformed(e, "target", "the target is neither a path nor a URL of http");
        while (scheme + len < t.len && t.at[scheme + len] != '/' && t.at[scheme + len] != '?')
                len++;
        r->form = HTTP1_ABSOLUTE;
        r->is_secure_target = scheme == 8;
        if (!authority_read(t.at + scheme, len, &r->target))
                return malformed(e, "target", "the target's host is no name with a port at most");
        return 0;
}

static int
authority_form_read(const struct http_head *h, struct http1_request *r, struct error *e)
{
        r->form = HTTP1_AUTHORITY;
        if (!authority_read(h->target.at, h->target.len, &r->target) || r->target.port == 0)
                return malformed(e, "target", "the target of CONNECT is not host:port");
        if (h->framing != HTTP_NO_BODY || http_head_find(h, "content-length"))
                return malformed(e, "framing", "a CONNECT has no body");
        return 0;
}

static int
target_read(const struct http_head *h, struct http1_request *r, struct error *e)
{
        if (http_text_is(h->method_text, "CONNECT"))
                return authority_form_read(h, r, e);
        if (h->target.at[0] == '/') {
                r->form = HTTP1_ORIGIN;
                return 0;
        }
        if (h->method == HTTP_METHOD_OPTIONS && http_text_is(h->target, "*")) {
                r->form = HTTP1_ASTERISK;
                return 0;
        }
        return absolute_read(h->target, r, e);
}

static int
host_read(const struct http_head *h, struct http1_request *r, struct error *e)
{
        const struct http_field *host = http_head_find(h, "host");

        if (!host) /* http_head.c lets CONNECT alone pass without */
                r->host = r->target;
        else if (!authority_read(host->value.at, host->value.len, &r->host))
                return malformed(e, "host_value", "Host is no name with a port at most");
        if (r->form != HTTP1_ABSOLUTE && r->form != HTTP1_AUTHORITY)
                r->target = r->host;
        if (!is_same_host(&r->target, &r->host) ||
            (r->target.port != r->host.port && (r->form == HTTP1_ABSOLUTE || r->host.port != 0)))
                return malformed(e, "two_hosts", "the target and Host name two hosts");
        return 0;
}

/* What the request wants the connection to become. */
static enum http1_upgrade
upgrade_of(const struct http1 *j, const struct http_head *h)
{
        const struct http_field *upgrade = http_head_find(h, "upgrade");

        if (!upgrade)
                return HTTP1_NO_UPGRADE;
        if (http_list_has(upgrade->value, "h2c"))
                return HTTP1_H2C;
        if (!http_text_is(upgrade->value, "websocket") || !h->wants_upgrade ||
            h->method != HTTP_METHOD_GET || h->minor != 1 || h->framing != HTTP_NO_BODY ||
            j->count > 0)
                return HTTP1_OTHER;
        return HTTP1_WEBSOCKET;
}

static int
request_read(struct http1 *j, const char *bytes, struct error *e)
{
        struct http_head h;
        struct http1_request r = { .upgrade = HTTP1_NO_UPGRADE };

        if (http_head_read(bytes, j->head_len, HTTP_METHOD_ANY, &h, e) < 0)
                return -1;
        reader_init(&j->reader, 0, 0);
        if (reader_head(&j->reader, bytes, &h, e) < 0 || target_read(&h, &r, e) < 0 ||
            host_read(&h, &r, e) < 0)
                return -1;
        if (h.method_text.len >= sizeof r.method)
                return malformed(e, "method", "the method is too long");
        memcpy(r.method, h.method_text.at, h.method_text.len);
        r.upgrade = upgrade_of(j, &h);
        j->request = r;
        j->is_last = h.is_last && r.upgrade == HTTP1_NO_UPGRADE;
        http_body_init(&j->body, &h);
        return 0;
}

static bool
is_about_host(const struct error *e)
{
        return strcmp(e->reason, "host") == 0 ||
               (strcmp(e->reason, "repeated") == 0 && strcmp(e->path, "host") == 0);
}

/* What to answer when `bytes` begin a head. */
static enum http1_verdict
head_take(struct http1 *j, const char *bytes, size_t len, struct error *e)
{
        int found;

        if (len == 0)
                return HTTP1_MORE;
        if (j->is_last) {
                j->state = BROKEN;
                (void)malformed(e, "after_last",
                                "there are bytes behind the request that was to be the last");
                return HTTP1_MALFORMED;
        }
        found = http_head_scan(bytes, len, &j->scanned, &j->head_len, e);
        if (found == 0)
                return HTTP1_MORE;
        if (found < 0 || request_read(j, bytes, e) < 0) {
                j->state = BROKEN;
                return found > 0 && is_about_host(e) ? HTTP1_NO_HOST : HTTP1_MALFORMED;
        }
        j->state = JUDGED;
        return HTTP1_REQUEST;
}

/* -- bodies ------------------------------------------------------------------------------------ */

static int
piece_take(struct http1 *j, const char *bytes, size_t len, size_t *ret_taken, struct error *e)
{
        if (http_body_take(&j->body, bytes, len, ret_taken, e) < 0 ||
            reader_body(&j->reader, bytes, *ret_taken, NULL, NULL, e) < 0)
                return -1;
        if (j->body.is_over != (j->reader.is_complete != 0))
                return malformed(e, "disagreement",
                                 "the message can be read in two ways: where it ends");
        return 0;
}

/* All that is well-formed, to the byte; then the error, if there is one. */
static int
body_take(struct http1 *j, const char *bytes, size_t len, size_t *ret_taken, struct error *e)
{
        struct http_body body = j->body;
        struct reader reader = j->reader;
        size_t one;

        if (piece_take(j, bytes, len, ret_taken, e) == 0)
                return 0;
        j->body = body;
        j->reader = reader;
        for (*ret_taken = 0;
             *ret_taken < len && piece_take(j, bytes + *ret_taken, 1, &one, e) == 0;)
                *ret_taken += one;
        return -1;
}

/* -- the connection ---------------------------------------------------------------------------- */

static void
head_pass(struct http1 *j)
{
        j->scanned = 0;
        j->count++;
        j->state = j->request.upgrade != HTTP1_NO_UPGRADE ? WAITS : j->body.is_over ? HEAD : BODY;
}

enum http1_verdict
http1_take(struct http1 *j, const char *bytes, size_t len, size_t *ret_pass, struct error *e)
{
        size_t taken = 0;

        *ret_pass = 0;
        for (;;) {
                enum http1_verdict verdict;

                switch (j->state) {
                case HEAD:
                        verdict = head_take(j, bytes + *ret_pass, len - *ret_pass, e);
                        return verdict;
                case JUDGED:
                        return HTTP1_REQUEST;
                case PERMITTED:
                        if (len - *ret_pass < j->head_len)
                                return HTTP1_MORE; /* the caller forgot bytes that it had shown */
                        *ret_pass += j->head_len;
                        head_pass(j);
                        break;
                case BODY:
                        if (body_take(j, bytes + *ret_pass, len - *ret_pass, &taken, e) < 0) {
                                *ret_pass += taken;
                                j->state = BROKEN;
                                return HTTP1_MALFORMED;
                        }
                        *ret_pass += taken;
                        if (!j->body.is_over)
                                return HTTP1_MORE;
                        j->state = HEAD;
                        break;
                case WAITS:
                        return HTTP1_WAITING;
                case TUNNEL:
                        *ret_pass = len;
                        return HTTP1_MORE;
                default:
                        (void)malformed(e, "broken", "the connection is broken");
                        return HTTP1_MALFORMED;
                }
        }
}

void
http1_permit(struct http1 *j)
{
        if (j->state == JUDGED)
                j->state = PERMITTED;
}

void
http1_switched(struct http1 *j, bool is_switched)
{
        if (j->state == WAITS)
                j->state = is_switched ? TUNNEL : HEAD;
}

/* -- the answer to an upgrade ------------------------------------------------------------------ */

enum { STATUS_LINE_LEN = 12, SWITCHING = 101 };

/* 100 to 599; 0: not there yet; -1: no status line. */
static int
status_read(const char *at, size_t len)
{
        static const char form[] = "HTTP/1.d ddd";
        int status = 0;

        for (size_t i = 0; i < len && i < STATUS_LINE_LEN; i++) {
                bool is_digit = at[i] >= '0' && at[i] <= '9';

                if (form[i] == 'd' ? !is_digit : at[i] != form[i])
                        return -1;
                if (i >= STATUS_LINE_LEN - 3)
                        status = status * 10 + (at[i] - '0');
        }
        if (len < STATUS_LINE_LEN)
                return 0;
        return status >= 100 && status <= 599 ? status : -1;
}

int
http1_answer_status(const char *bytes, size_t len)
{
        const char *at = bytes, *end = bytes + len;

        while (at < end) {
                int status = status_read(at, (size_t)(end - at));
                const char *blank;

                if (status < 0)
                        return -2;
                if (status >= 200 || status == SWITCHING)
                        return status == SWITCHING;
                blank = status > 0 ? memmem(at, (size_t)(end - at), "\r\n\r\n", 4) : NULL;
                if (!blank)
                        break;
                at = blank + 4; /* an answer that is not the last: 100, 103 */
        }
        return len >= HTTP1_HEAD_MAX ? -2 : -1;
}
