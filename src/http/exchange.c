/*
 * http/exchange.c - answers: a head, then a body of known or unknown length, or events.
 *
 * Room: http (joining). Touches: fd (through the connection), mem.
 * Theory: no value from a handler can end a line of the head, and only this file frames bodies.
 */
#include "http/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/connection.h"

enum { FAILURES_MAX = 5, DELAY_FIRST_MS = 200 };
enum {
        BURST_MAX = 192 * 1024,
        BURST_LEAST = 16 * 1024,
        QUEUE_LEAST = 64 * 1024 /* queued bytes for a caller over its limit */
};

static struct connection *
of(const struct exchange *x)
{
        return (struct connection *)(void *)(uintptr_t)x;
}

/* -- reading the request ----------------------------------------------------------------------- */

const char *
exchange_header(const struct exchange *x, const char *name)
{
        const struct http_field *f = http_head_find(&of(x)->head, name);

        return f ? f->value.at : NULL;
}

int
exchange_accepts(const struct exchange *x, const char *type)
{
        const struct http_head *h = &of(x)->head;

        for (size_t i = 0; i < h->field_count; i++) {
                const char *at = h->fields[i].value.at;

                if (!http_text_is(h->fields[i].name, "accept"))
                        continue;
                while (*at != '\0') {
                        size_t len;

                        at += strspn(at, ", \t");
                        len = strcspn(at, ",; \t");
                        if (len == strlen(type) && strncasecmp(at, type, len) == 0)
                                return 1;
                        at += strcspn(at, ",");
                }
        }
        return 0;
}

void
exchange_hold(struct exchange *x, const struct exchange_hooks *hooks, void *state)
{
        x->hooks = hooks;
        x->state = state;
}

void
exchange_body_pause(struct exchange *x)
{
        of(x)->is_body_paused = 1;
        connection_watch(of(x));
}

void
exchange_body_resume(struct exchange *x)
{
        struct connection *c = of(x);

        if (!c->is_body_paused)
                return;
        c->is_body_paused = 0;
        connection_watch(c);
        connection_kick(c);
}

/* -- what the handler holds -------------------------------------------------------------------- */

int
exchange_keep(struct exchange *x, size_t len, struct error *e)
{
        struct connection *c = of(x);

        if (len > c->kept && crowd_hold(&c->member, CROWD_ANSWERS, len - c->kept) < 0)
                return crowd_too_much(CROWD_ANSWERS, e);
        if (len < c->kept)
                crowd_release(&c->member, CROWD_ANSWERS, c->kept - len);
        c->kept = len;
        return 0;
}

int
exchange_keep_body(struct exchange *x, size_t len, struct error *e)
{
        struct connection *c = of(x);
        size_t more = len > c->kept_body ? len - c->kept_body : 0;

        if (c->door->body_bytes + more > BODIES_MAX)
                return fail(e, ERROR_UNAVAILABLE, "too many bodies come in at the same time");
        if (crowd_hold(&c->member, CROWD_BODIES, more) < 0)
                return crowd_too_much(CROWD_BODIES, e);
        c->kept_body += more;
        c->door->body_bytes += more;
        return 0;
}

size_t
exchange_burst(const struct exchange *x)
{
        return crowd_is_over(&of(x)->member) ? BURST_LEAST : BURST_MAX;
}

/* -- the head ---------------------------------------------------------------------------------- */

void
exchange_add(struct exchange *x, const char *name, const char *value)
{
        struct connection *c = of(x);
        size_t room = sizeof c->added - c->added_len;
        int len = snprintf(c->added + c->added_len, room, "%s: %s\r\n", name, value);

        for (const char *at = value; *at != '\0'; at++)
                if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
                        len = -1;
        if (len > 0 && (size_t)len < room)
                c->added_len += (size_t)len;
        else
                c->added[c->added_len] = '\0';
}

static const char *
reason_of(int status)
{
        static const struct {
                int status;
                const char *words;
        } rows[] = {
                { 200, "OK" },
                { 201, "Created" },
                { 202, "Accepted" },
                { 204, "No Content" },
                { 206, "Partial Content" },
                { 400, "Bad Request" },
                { 401, "Unauthorized" },
                { 403, "Forbidden" },
                { 404, "Not Found" },
                { 405, "Method Not Allowed" },
                { 406, "Not Acceptable" },
                { 408, "Request Timeout" },
                { 409, "Conflict" },
                { 413, "Content Too Large" },
                { 414, "URI Too Long" },
                { 415, "Unsupported Media Type" },
                { 416, "Range Not Satisfiable" },
                { 417, "Expectation Failed" },
                { 422, "Unprocessable Content" },
                { 429, "Too Many Requests" },
                { 431, "Request Header Fields Too Large" },
                { 500, "Internal Server Error" },
                { 501, "Not Implemented" },
                { 502, "Bad Gateway" },
                { 503, "Service Unavailable" },
                { 505, "HTTP Version Not Supported" },
                { 507, "Insufficient Storage" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].status == status)
                        return rows[i].words;
        return "Answer";
}

static int
has_no_body(int status)
{
        return status == 204 || status == 304;
}

/* Writes the head into `room` bytes; `length` -1: unknown. */
static size_t
write_head(struct connection *c, char *out, size_t room, int status, const char *type,
           int64_t length)
{
        char framing[64] = "";
        int len;

        c->has_length = length >= 0 && !has_no_body(status);
        c->left = length > 0 ? (uint64_t)length : 0;
        c->is_chunked = length < 0 && c->head.minor == 1;
        if (length < 0 && !c->is_chunked)
                /* HTTP/1.0: the end of the connection ends the body */
                c->is_last = 1;
        if (c->is_chunked)
                (void)snprintf(framing, sizeof framing, "Transfer-Encoding: chunked\r\n");
        else if (c->has_length)
                (void)snprintf(framing, sizeof framing, "Content-Length: %lld\r\n",
                               (long long)length);
        len = snprintf(out, room,
                       "HTTP/1.1 %d %s\r\n%s%s%s%s%.*s%sCache-Control: "
                       "no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n",
                       status, reason_of(status), type ? "Content-Type: " : "", type ? type : "",
                       type ? "\r\n" : "", framing, (int)c->added_len, c->added,
                       c->is_last           ? "Connection: close\r\n"
                       : c->head.minor == 0 ? "Connection: keep-alive\r\n"
                                            : "");
        c->x.has_begun = 1;
        return len > 0 && (size_t)len < room ? (size_t)len : 0;
}

/* -- complete answers -------------------------------------------------------------------------- */

void
exchange_answer(struct exchange *x, int status, const char *type, const void *bytes, size_t len)
{
        struct connection *c = of(x);
        char head[4096];
        const void *parts[] = { head, bytes };
        size_t lens[] = { 0, len };

        lens[0] = write_head(c, head, sizeof head, status, type, (int64_t)len);
        connection_send(c, parts, lens, len > 0 ? 2 : 1);
        connection_finished(c);
}

/* A hint uses the terms of the client's interface: here HTTP. */
static const char *
hint_of(const struct error *e)
{
        static const struct {
                enum error_code code;
                const char *words;
        } rows[] = {
                { ERROR_INVALID_ARGUMENT, "GET /v1/openapi.json lists what each route takes." },
                { ERROR_NOT_FOUND, "GET /v1/sandboxes lists the sandboxes that exist." },
                { ERROR_EXEC_NOT_FOUND,
                  "GET /v1/sandboxes/ID/execs lists the execs of a sandbox." },
        };
        const char *hint = error_hint_text(e);

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].code == e->code && strcmp(hint, error_code_hint(e->code)) == 0)
                        return rows[i].words;
        return hint;
}

void
exchange_error_write(struct json_writer *w, const struct error *e)
{
        json_open_map(w);
        json_member_text(w, "code", error_wire_name(e->code));
        if (e->path[0] != '\0')
                json_member_text(w, "path", e->path);
        if (e->line > 0) {
                json_member_int(w, "line", e->line);
                json_member_int(w, "column", e->column);
        }
        if (e->reason[0] != '\0')
                json_member_text(w, "reason", e->reason);
        json_member_text(w, "message", e->message);
        json_member_text(w, "hint", hint_of(e));
        json_close_map(w);
}

void
exchange_error_text(struct json_writer *ret_w, const struct error *e)
{
        json_init(ret_w, false);
        json_open_map(ret_w);
        json_key(ret_w, "error");
        exchange_error_write(ret_w, e);
        json_close_map(ret_w);
        if (!ret_w->is_broken && ret_w->text)
                return;
        json_fini(ret_w);
        json_init(ret_w, false);
}

int
exchange_error_passes(const struct error *e)
{
        return e->code == ERROR_UNAVAILABLE || strcmp(e->reason, "connections") == 0 ||
               strcmp(e->reason, "bodies") == 0 || strcmp(e->reason, "answers") == 0;
}

static void
answer_error(struct exchange *x, const struct error *e)
{
        struct json_writer w;

        if (e->code == ERROR_UNAUTHENTICATED)
                exchange_add(x, "WWW-Authenticate", "Bearer");
        if (exchange_error_passes(e))
                exchange_add(x, "Retry-After", "1");
        exchange_error_text(&w, e);
        exchange_answer(x, error_http_status(e->code), "application/json", w.text ? w.text : "",
                        w.text ? w.len : 0);
        json_fini(&w);
}

static void
answer_late(struct loop_timer *t)
{
        struct connection *c =
                (struct connection *)(void *)((char *)t - offsetof(struct connection, delay));

        answer_error(&c->x, c->delayed);
}

/*
 * Wrong credentials delay the answer, longer each time. Only this connection waits; others are
 * served meanwhile.
 */
static int
delay(struct connection *c, const struct error *e)
{
        if (e->code != ERROR_UNAUTHENTICATED || c->state == CONNECTION_DEAD ||
            !http_head_find(&c->head, "authorization"))
                return 0;
        c->delayed = malloc(sizeof *e);
        if (!c->delayed)
                return 0;
        *c->delayed = *e;
        c->x.hooks = NULL;
        c->is_held = 0;
        if (++c->failures >= FAILURES_MAX)
                c->is_last = 1;
        return loop_timer_set(c->door->loop, &c->delay,
                              loop_now_ms() + (UINT64_C(1) << c->failures) * DELAY_FIRST_MS / 2,
                              answer_late) == 0;
}

void
exchange_fail(struct exchange *x, const struct error *e)
{
        if (x->has_begun)
                exchange_abort(x);
        else if (!delay(of(x), e))
                answer_error(x, e);
}

void
exchange_no_memory(struct exchange *x)
{
        struct error e;

        (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this request");
        exchange_fail(x, &e);
}

/* -- answers in parts -------------------------------------------------------------------------- */

void
exchange_begin(struct exchange *x, int status, const char *type, int64_t length)
{
        struct connection *c = of(x);
        char head[4096];
        const void *parts[] = { head };
        size_t lens[] = { write_head(c, head, sizeof head, status, type, length) };

        connection_send(c, parts, lens, 1);
}

/* Reports a caller over its limit as full earlier, so that its source pauses earlier. */
static size_t
queued(const struct connection *c)
{
        return c->out.len > QUEUE_LEAST && c->out.len <= EXCHANGE_HIGH && crowd_is_over(&c->member)
                       ? EXCHANGE_HIGH + 1
                       : c->out.len;
}

static size_t
send_body(struct connection *c, const void *bytes, size_t len)
{
        char size[24];
        int size_len = snprintf(size, sizeof size, "%zx\r\n", len);
        const void *chunk[] = { size, bytes, "\r\n" };
        size_t lens[] = { (size_t)size_len, len, 2 };

        if (len == 0)
                return queued(c);
        if (c->is_chunked) {
                connection_send(c, chunk, lens, 3);
        } else {
                if (c->has_length && len > c->left)
                        len = (size_t)c->left;
                c->left -= c->has_length ? len : 0;
                lens[1] = len;
                connection_send(c, chunk + 1, lens + 1, 1);
        }
        return queued(c);
}

size_t
exchange_write(struct exchange *x, const void *bytes, size_t len)
{
        return send_body(of(x), bytes, len);
}

size_t
exchange_comment(struct exchange *x)
{
        return send_body(of(x), ":\n\n", 3);
}

size_t
exchange_event_id(struct exchange *x, const char *id)
{
        char text[80];
        int len = snprintf(text, sizeof text, "id: %s\n\n", id ? id : "");

        return id && len > 0 && (size_t)len < sizeof text ? send_body(of(x), text, (size_t)len)
                                                          : exchange_comment(x);
}

size_t
exchange_event(struct exchange *x, const char *event, const char *id, const char *data, size_t len)
{
        size_t room = len * 2 + (event ? strlen(event) : 0) + (id ? strlen(id) : 0) + 64, used = 0,
               waiting;
        char *text;

        for (size_t i = 0; i < len; i++)
                room += data[i] == '\n' ? 8 : 0;
        text = malloc(room);
        if (!text) {
                connection_fall(of(x));
                return 0;
        }
        if (id)
                used += (size_t)snprintf(text + used, room - used, "id: %s\n", id);
        if (event)
                used += (size_t)snprintf(text + used, room - used, "event: %s\n", event);
        for (size_t at = 0; at <= len;) {
                const char *end = at < len ? memchr(data + at, '\n', len - at) : NULL;
                size_t line = end ? (size_t)(end - data) - at : len - at;

                /* lint: a piece of a line, which is no string */
                memcpy(text + used, "data: ", 6);
                memcpy(text + used + 6, data + at, line);
                used += 6 + line;
                text[used++] = '\n';
                at += line + 1;
        }
        text[used++] = '\n';
        waiting = send_body(of(x), text, used);
        free(text);
        return waiting;
}

void
exchange_end(struct exchange *x)
{
        struct connection *c = of(x);
        const void *parts[] = { "0\r\n\r\n" };
        size_t lens[] = { 5 };

        if (c->has_length && c->left > 0) {
                connection_cut(c);
                return;
        }
        if (c->is_chunked)
                connection_send(c, parts, lens, 1);
        connection_finished(c);
}

void
exchange_abort(struct exchange *x)
{
        connection_cut(of(x));
}
