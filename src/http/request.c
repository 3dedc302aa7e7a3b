/*
 * http/request.c - reads one request: checks its head, then collects its body or passes it on as it
 * arrives.
 *
 * Room: http (joining). Touches: mem, clock.
 * Theory: the parser gets only bytes that http_body_take() has counted as part of the message
 * (G01). If the two disagree, the connection ends.
 */
#include "http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/admit.h"
#include "http/crowd.h"
#include "http/exchange.h"

enum {
        BODY_FITS,
        BODY_TOO_LARGE,
        BODY_TOO_MANY /* of all owners */,
        BODY_TOO_GREEDY /* of one owner */
};
enum { BODY_MS = 30 * 1000, STREAM_MS = 300 * 1000 };

/* For a refusal before there is a handler: sends the error, then closes. */
void
request_deny(struct connection *c, const struct error *e)
{
        connection_drop_body(c);
        c->is_last = 1;
        c->is_held = 0;
        c->state = CONNECTION_WAIT;
        exchange_fail(&c->x, e);
}

/* -- bodies ------------------------------------------------------------------------------------ */

static void
collect(struct connection *c, const char *bytes, size_t len)
{
        if (c->is_too_large == BODY_FITS)
                c->is_too_large = c->whole.len + len > BODY_MAX                   ? BODY_TOO_LARGE
                                  : c->door->body_bytes + len > BODIES_MAX        ? BODY_TOO_MANY
                                  : crowd_hold(&c->member, CROWD_BODIES, len) < 0 ? BODY_TOO_GREEDY
                                                                                  : BODY_FITS;
        if (c->is_too_large != BODY_FITS)
                return;
        if (buffer_add(&c->whole, bytes, len, BODY_MAX) < 0)
                c->is_too_large = BODY_TOO_MANY;
        else
                c->door->body_bytes += len;
}

static void
take_body(void *data, const char *bytes, size_t len)
{
        struct connection *c = data;

        if ((c->route.flags & ROUTE_STREAM) == 0)
                collect(c, bytes, len);
        else if (c->is_held && !c->is_done && c->x.hooks && c->x.hooks->body)
                c->x.hooks->body(&c->x, bytes, len);
}

static void
handle(struct connection *c)
{
        c->is_held = 1;
        c->route.handle(&c->x, &c->route);
}

static void
body_is_over(struct connection *c)
{
        c->state = CONNECTION_WAIT;
        connection_deadline(c, 0);
        if ((c->route.flags & ROUTE_STREAM) != 0) {
                if (c->is_held && !c->is_done && c->x.hooks && c->x.hooks->body)
                        c->x.hooks->body(&c->x, NULL, 0);
                return;
        }
        c->x.body = c->whole.bytes ? c->whole.bytes : "";
        c->x.body_len = c->whole.len;
        handle(c);
}

int
request_body(struct connection *c)
{
        struct error e;
        size_t taken;

        if (c->is_done) { /* answered before the body was read */
                c->is_last = 1;
                c->state = CONNECTION_FLUSH;
                return 1;
        }
        if (!c->body.is_over) {
                if (c->is_body_paused || c->in.len == 0)
                        return 0;
                if (http_body_take(&c->body, c->in.at + c->in.first, c->in.len, &taken, &e) < 0 ||
                    reader_body(&c->reader, c->in.at + c->in.first, taken, take_body, c, &e) < 0) {
                        if (c->is_held) {
                                connection_die(c);
                                return 0;
                        }
                        request_deny(c, &e);
                        return 1;
                }
                if (c->state == CONNECTION_DEAD)
                        return 0;
                bytes_drop(&c->in, taken);
                /* a collected body has one fixed deadline, however slowly it arrives */
                if ((c->route.flags & ROUTE_STREAM) != 0)
                        connection_deadline(c, STREAM_MS);
        }
        if (c->is_too_large) {
                if (c->is_too_large == BODY_TOO_LARGE)
                        (void)fail(&e, ERROR_REQUEST_TOO_LARGE, "the body is larger than %d bytes",
                                   BODY_MAX);
                else if (c->is_too_large == BODY_TOO_GREEDY)
                        (void)crowd_too_much(CROWD_BODIES, &e);
                else
                        (void)fail(&e, ERROR_UNAVAILABLE,
                                   "too many bodies come in at the same time");
                request_deny(c, &e);
                return 1;
        }
        if (c->body.is_over && c->reader.is_complete)
                body_is_over(c);
        else if (c->body.is_over || c->reader.is_complete)
                /* the two readers disagree: the connection cannot be used safely any more */
                connection_die(c);
        return c->state != CONNECTION_DEAD && (c->in.len > 0 || c->state != CONNECTION_BODY);
}

/* -- heads ------------------------------------------------------------------------------------- */

/* Writes NULs into the copy of the head, so that its values are C strings. */
static void
end_strings(struct connection *c)
{
        char *base = c->head_bytes;
        char *target = base + (c->head.target.at - base), *question;

        for (size_t i = 0; i < c->head.field_count; i++) {
                struct http_field *f = &c->head.fields[i];

                base[(f->name.at - base) + (ptrdiff_t)f->name.len] = '\0';
                base[(f->value.at - base) + (ptrdiff_t)f->value.len] = '\0';
        }
        target[c->head.target.len] = '\0';
        question = strchr(target, '?');
        c->x.query = question ? question + 1 : "";
        c->x.path = target;
        if (question)
                *question = '\0';
        c->x.method = http_method_name(c->head.method);
        c->x.body = "";
        c->x.peer = (struct api_peer){ .uid = c->uid };
}

static int
read_head(struct connection *c, size_t len, struct error *e)
{
        c->head_bytes = malloc(len + 1);
        if (!c->head_bytes)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
        memcpy(c->head_bytes, c->in.at + c->in.first, len);
        c->head_bytes[len] = '\0';
        bytes_drop(&c->in, len);
        c->scanned = 0;
        reader_init(&c->reader, 0, 0);
        if (http_head_read(c->head_bytes, len, HTTP_METHODS_REST, &c->head, e) < 0 ||
            reader_head(&c->reader, c->head_bytes, &c->head, e) < 0)
                return -1;
        end_strings(c);
        return 0;
}

/*
 * Finds the route and checks the head. A refusal closes the connection only if a body would follow.
 */
static int
admit(struct connection *c, struct error *e)
{
        char allow[64] = "";

        if (admit_origin(&c->head, c->is_tcp, e) < 0 || admit_query(c->x.query, e) < 0)
                return -1;
        if (route_find(c->door->facades, c->x.method, c->x.path, &c->route, allow, sizeof allow,
                       e) < 0) {
                if (allow[0] != '\0')
                        exchange_add(&c->x, "Allow", allow);
                return -1;
        }
        if ((c->route.flags & ROUTE_OPEN) == 0 &&
            admit_credential(&c->head, c->is_tcp, &c->x.peer, e) < 0)
                return -1;
        if ((c->route.flags & ROUTE_OWN_QUERY) == 0 &&
            codec_query_check(c->route.operation, c->route.method, c->route.pattern, c->x.query,
                              e) < 0)
                return -1;
        return admit_body(&c->head, (c->route.flags & ROUTE_ANY_TYPE) != 0,
                          (c->route.flags & ROUTE_STREAM) != 0 ? UINT64_MAX : BODY_MAX, e);
}

/* Answers with an error. If the request has a body, the connection ends with that answer. */
static void
reject(struct connection *c, const struct error *e)
{
        if (c->head.framing != HTTP_NO_BODY || e->code == ERROR_QUOTA_EXCEEDED)
                c->is_last = 1;
        c->state = CONNECTION_WAIT;
        exchange_fail(&c->x, e);
}

static void
go_on(struct connection *c)
{
        static const void *const words[] = { "HTTP/1.1 100 Continue\r\n\r\n" };
        static const size_t lens[] = { 25 };

        c->state = CONNECTION_BODY;
        if (c->head.wants_continue && c->in.len == 0)
                connection_send(c, words, lens, 1);
        connection_deadline(c, c->body.is_over                        ? 0
                               : (c->route.flags & ROUTE_STREAM) != 0 ? STREAM_MS
                                                                      : BODY_MS);
        if ((c->route.flags & ROUTE_STREAM) != 0)
                handle(c);
}

/* -- the owner of a request -------------------------------------------------------------------- */

void
request_owner_of_uid(uid_t uid, char ret[REQUEST_OWNER_LEN])
{
        (void)snprintf(ret, REQUEST_OWNER_LEN, "uid:%lu", (unsigned long)uid);
}

/* Distinguishes tokens (FNV-1a) without storing them; never 0. */
static uint64_t
mark_of(const char *token)
{
        uint64_t mark = UINT64_C(0xcbf29ce484222325);

        for (; *token != '\0'; token++)
                mark = (mark ^ (unsigned char)*token) * UINT64_C(0x100000001b3);
        return mark != 0 ? mark : 1;
}

static struct connection *
of_who(struct link_call *who)
{
        return (struct connection *)(void *)((char *)who - offsetof(struct connection, who));
}

static void
on_owner(struct link_call *who, const struct record *fields, bool is_last)
{
        struct connection *c = of_who(who);
        struct error e;

        if (crowd_name(&c->member, record_get_text(fields, FIELD_OWNER, ""), &e) < 0) {
                reject(c, &e);
        } else {
                c->known = mark_of(c->x.peer.token);
                go_on(c);
        }
        connection_kick(c);
}

static void
on_no_owner(struct link_call *who, const struct error *e)
{
        reject(of_who(who), e);
        connection_kick(of_who(who));
}

static int
ask(struct connection *c)
{
        static const struct link_call_ops ops = { .reply = on_owner, .refused = on_no_owner };
        static _Alignas(16) unsigned char room[512];
        struct record_writer w;
        struct error e;

        record_init(&w, room, sizeof room);
        c->who.ops = &ops;
        c->state = CONNECTION_ASK;
        connection_deadline(c, 0);
        if (link_call_begin(c->door->link, &c->who, &c->x.peer, OP_CALLER, &w, &e) == 0)
                return 0;
        reject(c, &e);
        return 1;
}

/* Counts the connection for its caller, before any work is done for that caller. */
static int
identify(struct connection *c)
{
        char owner[REQUEST_OWNER_LEN];
        struct error e;

        if (c->x.peer.token && c->known != mark_of(c->x.peer.token))
                return ask(c);
        request_owner_of_uid(c->uid, owner);
        if (!c->x.peer.token && !c->is_tcp && crowd_name(&c->member, owner, &e) < 0) {
                reject(c, &e);
                return 1;
        }
        if (!c->x.peer.token && !c->is_tcp)
                c->known = 0;
        go_on(c);
        return 1;
}

int
request_head(struct connection *c)
{
        struct error e;
        size_t len;
        int found = c->in.len == 0 ? 0
                                   : http_head_scan(c->in.at + c->in.first, c->in.len, &c->scanned,
                                                    &len, &e);

        if (found == 0)
                return 0;
        c->has_served = 1;
        crowd_busy(&c->member);
        if (found < 0 || read_head(c, len, &e) < 0) {
                request_deny(c, &e);
                return 1;
        }
        c->is_last = c->head.is_last;
        c->state = CONNECTION_BODY;
        http_body_init(&c->body, &c->head);
        if (admit(c, &e) < 0) {
                reject(c, &e);
                return 1;
        }
        return identify(c);
}
