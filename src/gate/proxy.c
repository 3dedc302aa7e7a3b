/*
 * gate/proxy.c - a proxy for programs that need one: CONNECT to the gate's own address leads to the
 * same checks.
 *
 * Room: gate (acting). Touches: net.
 * Theory: the host in CONNECT replaces the name of the address. The connection then continues like
 * any other: the greeting inside must match, and a 403 gives the reason if it does not. A plain
 * request in proxy form (GET http://host/path) is rewritten as its origin expects it. It is the
 * last one of its connection, because the next may be for another host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gate/connection.h"
#include "gate/connection_parts.h"
#include "gate/test_switches.h"
#include "proto/http1.h"

enum { PORT_HTTP = 80, SCHEME_LEN = 7 /* "http://" */ };

static const char last_field[] = "Connection: close\r\n\r\n";
static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
static void
refuse(struct connection *c, enum denial reason)
{
        c->protocol = PROTOCOL_HTTP1;
        connection_deny(c, reason, NULL);
}

static enum denial
find_destination(struct connection *c, const struct authority *target)
{
        enum denial reason;
        int entry;

        c->port = target->port != 0 ? target->port : PORT_HTTP;
        if (!egress_host_read(target->host, c->host.text)) {
                (void)snprintf(c->host.text, sizeof c->host.text, "%.*s", EGRESS_HOST_MAX,
                               target->host);
                return DENIAL_BAD_NAME;
        }
        reason = switch_is_off(SWITCH_CONNECTION)
                         ? DENIAL_NONE
                         : admit_connection(&c->policy->p, &c->host, c->port, &entry);
        /* A name requested here counts like a DNS question (H11). */
        return reason == DENIAL_NONE && wall_give_name(c->wall, &c->host) == 0
                       ? DENIAL_TOO_MANY_NAMES
                       : reason;
}

bool
proxy_answer(struct connection *c)
{
        c->owes_answer = false;
        if (send(c->client.fd, established, sizeof established - 1, MSG_DONTWAIT | MSG_NOSIGNAL) ==
            (ssize_t)sizeof established - 1)
                return true;
        connection_reset(c);
        return false;
}

/*
 * Removes the head of CONNECT, which is for the gate; the bytes after it are the client's greeting.
 * The gate answers when it knows the result. Without judging, that is after a connect. Otherwise it
 * is when the destination has an address that may be dialled: the greeting follows the answer, and
 * is judged before any connect.
 */
static void
enter(struct connection *c, size_t head_len)
{
        struct held *h = &c->out.hold;

        memmove(h->bytes, h->bytes + head_len, h->len - head_len);
        h->len -= head_len;
        c->owes_answer = true;
        c->protocol = PROTOCOL_HTTP1; /* of the answer */
        if (!admit_needs_look(&c->policy->p, &c->host, c->port)) {
                h->judged = h->len;
                connection_dial(c);
        } else {
                connection_look(c);
        }
}

/* -- requests in proxy form -------------------------------------------------------------------- */

/* True: the field is only between client and proxy. */
static bool
is_hop_field(const char *line)
{
        static const char *const names[] = { "connection:", "proxy-connection:",
                                             "proxy-authorization:", "keep-alive:" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strncasecmp(line, names[i], strlen(names[i])) == 0)
                        return true;
        return false;
}

/*
 * Writes the head in origin form. It is known to be well-formed: lines end in CRLF, and the target
 * starts with http://. Returns its length in bytes.
 */
static size_t
write_origin_form(const char *head, size_t len, char *ret)
{
        const char *target = memchr(head, ' ', len), *path = target + 1 + SCHEME_LEN, *line,
                   *end = head + len;
        size_t at = (size_t)(target + 1 - head);

        path += strcspn(path, "/? ");
        memcpy(ret, head, at);
        if (*path != '/')
                ret[at++] = '/';
        for (line = path; line < end && *line != '\r';
             line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1) {
                size_t line_len =
                        (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) + 1 - line);

                if (line != path && is_hop_field(line))
                        continue;
                memcpy(ret + at, line, line_len);
                at += line_len;
        }
        memcpy(ret + at, last_field, sizeof last_field - 1);
        return at + sizeof last_field - 1;
}

/* Puts the new head before the other bytes, and has it judged like any request. */
static void
enter_plain(struct connection *c, size_t head_len)
{
        const struct held *h = &c->out.hold;
        size_t room = h->len + sizeof last_field + 1, len;
        char *anew = malloc(room);

        if (!anew) {
                refuse(c, DENIAL_FAILED);
                return;
        }
        len = write_origin_form(h->bytes, head_len, anew);
        memcpy(anew + len, h->bytes + head_len, h->len - head_len);
        if (!held_replace(&c->out, anew, len + h->len - head_len, room)) {
                refuse(c, DENIAL_FAILED);
                return;
        }
        c->state = CONNECTION_GREETING;
        greeting_look(c);
}

static bool
is_plain_request(const struct http1_request *r)
{
        return r->form == HTTP1_ABSOLUTE && !r->is_secure_target && r->upgrade == HTTP1_NO_UPGRADE;
}

void
proxy_look(struct connection *c)
{
        struct held *h = &c->out.hold;
        struct http1 reader;
        struct error e;
        size_t pass, head_len = 0;
        /* scans each byte once, however the bytes are split */
        int found = http_head_scan(h->bytes, h->len, &c->scanned, &head_len, &e);
        enum denial reason;

        if (found == 0)
                return;
        if (found < 0) {
                refuse(c, DENIAL_MALFORMED);
                return;
        }
        http1_init(&reader);
        switch (http1_take(&reader, h->bytes, h->len, &pass, &e)) {
        case HTTP1_MORE:
                return;
        case HTTP1_REQUEST:
                break;
        case HTTP1_WAITING:
        case HTTP1_NO_HOST:
                refuse(c, DENIAL_HOST_NONE);
                return;
        case HTTP1_MALFORMED:
                refuse(c, DENIAL_MALFORMED);
                return;
        }
        if (reader.request.form != HTTP1_AUTHORITY && !is_plain_request(&reader.request)) {
                (void)find_destination(c, &reader.request.target); /* for the report */
                refuse(c, reader.request.form != HTTP1_ABSOLUTE ? DENIAL_MALFORMED
                          : reader.request.is_secure_target     ? DENIAL_PROXY_FORM
                                                                : DENIAL_UPGRADE);
                return;
        }
        reason = find_destination(c, &reader.request.target);
        if (reason != DENIAL_NONE)
                refuse(c, reason);
        else if (reader.request.form == HTTP1_AUTHORITY)
                enter(c, head_len);
        else
                enter_plain(c, head_len);
}
