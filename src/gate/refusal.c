/*
 * gate/refusal.c - reports a refusal to the client, in its own protocol, and to the box.
 *
 * Room: gate (acting). Touches: net.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "gate/connection.h"
#include "gate/connection_parts.h"
#include "gate/denials.h"

enum {
        TEXT_MAX = 900,
        BODY_MAX = TEXT_MAX + 600,
        ANSWER_MAX = 2048,
        TLS_UNRECOGNIZED_NAME = 112,
        TLS_ACCESS_DENIED = 49,
        TLS_INTERNAL_ERROR = 80,
        HTTP2_REFUSED = 0xb /* ENHANCE_YOUR_CALM */
};

/* Escapes a JSON string. A byte that is not printable ASCII becomes "?"; none is expected. */
static void
write_json(const char *text, char *ret, size_t room)
{
        size_t at = 0;

        for (; *text != '\0' && at + 3 < room; text++) {
                if (*text == '"' || *text == '\\')
                        ret[at++] = '\\';
                ret[at++] = *text >= ' ' && *text < 127 ? *text : *text == '\n' ? ' ' : '?';
        }
        ret[at] = '\0';
}

/*
 * The requested name, or the address if no name belongs to it. The proxy's own address, used to
 * reach another host, counts as no host.
 */
static const char *
asked_for(const struct connection *c, char ret[INET6_ADDRSTRLEN])
{
        const struct in6_addr *to = &c->to.sin6_addr;
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(to) != 0;

        if (c->host.text[0] != '\0' || ntohs(c->to.sin6_port) != c->port)
                return c->host.text;
        return inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? to->s6_addr + 12 : to->s6_addr, ret,
                         INET6_ADDRSTRLEN)
                       ? ret
                       : "";
}

static int
status_of(enum denial reason)
{
        switch (reason) {
        case DENIAL_UNRESOLVED:
        case DENIAL_UNREACHABLE:
        case DENIAL_FAILED:
                return 502;
        case DENIAL_MALFORMED:
        case DENIAL_HOST_NONE:
                return 400;
        case DENIAL_TOO_MANY:
        case DENIAL_BYTES:
        case DENIAL_DAY_BYTES:
                return 429;
        default:
                return 403;
        }
}

/* The same text in every version of HTTP. Returns its length in bytes. */
static int
write_body(enum denial reason, const char *host, uint16_t port, const char *other,
           char ret[BODY_MAX])
{
        char text[TEXT_MAX], message[TEXT_MAX + 64], name[EGRESS_HOST_MAX + 8];
        int len;

        (void)denial_text(reason, host, port, other ? other : "", text, sizeof text);
        write_json(text, message, sizeof message);
        write_json(host, name, sizeof name);
        len = snprintf(ret, BODY_MAX,
                       "{\"code\":\"%s\",\"host\":\"%s\",\"port\":%u,\"message\":\"%s\"}\n",
                       denial_name(reason), name, (unsigned)port, message);
        return len < 0 || len >= BODY_MAX
                       ? snprintf(ret, BODY_MAX, "{\"code\":\"%s\"}\n", denial_name(reason))
                       : len;
}

size_t
refusal_http(enum denial reason, const char *host, uint16_t port, const char *other, char *ret,
             size_t room)
{
        char body[BODY_MAX];
        int status = status_of(reason), body_len = write_body(reason, host, port, other, body), len;

        len = snprintf(ret, room,
                       "HTTP/1.1 %d Refused by the sandbox's gate\r\nContent-Type: "
                       "application/json\r\nContent-Length: %d\r\nX-Carrel-Denied: %s\r\n"
                       "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                       status, body_len, denial_name(reason), body);
        return len < 0 || (size_t)len >= room ? 0 : (size_t)len;
}

/* One fatal alert; the record has the version of a first answer. */
static void
leave_tls(struct connection *c, enum denial reason)
{
        char alert[7] = { 21, 3, 3, 0, 2, 2, TLS_ACCESS_DENIED };

        if (reason == DENIAL_SNI_OTHER || reason == DENIAL_SNI_NONE || reason == DENIAL_NOT_LISTED)
                alert[6] = TLS_UNRECOGNIZED_NAME;
        if (reason == DENIAL_UNRESOLVED || reason == DENIAL_UNREACHABLE || reason == DENIAL_FAILED)
                alert[6] = TLS_INTERNAL_ERROR;
        connection_leave(c, alert, sizeof alert);
}

/* -- HTTP/2 ------------------------------------------------------------------------------------ */

enum {
        HTTP2_HEAD = 9,
        HTTP2_DATA = 0,
        HTTP2_HEADERS = 1,
        HTTP2_SETTINGS = 4,
        HTTP2_GOAWAY = 7,
        HTTP2_ACK = 1,
        HTTP2_END_STREAM = 1,
        HTTP2_END_HEADERS = 4
};

/* Returns the position of the next frame. */
static char *
write_frame(char *at, int type, int flags, uint32_t stream, const char *bytes, size_t len)
{
        const char head[HTTP2_HEAD] = {
                (char)(len >> 16),    (char)(len >> 8),    (char)len,
                (char)type,           (char)flags,         (char)(stream >> 24),
                (char)(stream >> 16), (char)(stream >> 8), (char)stream
        };

        memcpy(at, head, sizeof head);
        memcpy(at + sizeof head, bytes, len);
        return at + sizeof head + len;
}

static char *
put(char *at, const char *bytes, size_t len)
{
        memcpy(at, bytes, len);
        return at + len;
}

/*
 * Like refusal_http(). Fields are literals. Of the tables it uses only names in the static one (RFC
 * 7541, 6.2.2 and appendix A): :status 8, content-type 31.
 */
static char *
write_answer(char *at, const struct connection *c, enum denial reason, const char *other,
             uint32_t stream, bool is_head)
{
        static const char status[] = "\x08\x03",
                          type[] = "\x0f\x10\x10"
                                   "application/json",
                          denied[] = "\0\x0f"
                                     "x-carrel-denied";
        char block[128], body[BODY_MAX], address[INET6_ADDRSTRLEN], digits[4], *end = block;
        const char *name = denial_name(reason);
        int body_len = write_body(reason, asked_for(c, address), c->port, other, body);

        (void)snprintf(digits, sizeof digits, "%03u", (unsigned)status_of(reason) % 1000);
        end = put(end, status, sizeof status - 1);
        end = put(end, digits, 3);
        end = put(end, type, sizeof type - 1);
        end = put(end, denied, sizeof denied - 1);
        *end++ = (char)strlen(name);
        end = put(end, name, strlen(name));
        at = write_frame(at, HTTP2_HEADERS, HTTP2_END_HEADERS | (is_head ? HTTP2_END_STREAM : 0),
                         stream, block, (size_t)(end - block));
        return is_head ? at
                       : write_frame(at, HTTP2_DATA, HTTP2_END_STREAM, stream, body,
                                     (size_t)body_len);
}

/* SETTINGS, the answer if a request exists, then GOAWAY with the reason as debug data. */
static void
leave_http2(struct connection *c, enum denial reason, const char *other)
{
        char bytes[4 * HTTP2_HEAD + 128 + BODY_MAX + 8 + TEXT_MAX],
                goaway[8 + TEXT_MAX] = { 0 }, address[INET6_ADDRSTRLEN], *at = bytes;
        bool is_head;
        uint32_t stream = judge_stream(c->out.judge, &is_head);

        at = write_frame(at, HTTP2_SETTINGS, 0, 0, "", 0);
        if (stream != 0)
                at = write_answer(at, c, reason, other, stream, is_head);
        else
                goaway[7] = HTTP2_REFUSED;
        goaway[0] = (char)(stream >> 24);
        goaway[1] = (char)(stream >> 16);
        goaway[2] = (char)(stream >> 8);
        goaway[3] = (char)stream;
        (void)denial_text(reason, asked_for(c, address), c->port, other ? other : "", goaway + 8,
                          TEXT_MAX);
        at = write_frame(at, HTTP2_GOAWAY, 0, 0, goaway, 8 + strlen(goaway + 8));
        connection_leave(c, bytes, (size_t)(at - bytes));
}

void
connection_tell(struct connection *c, enum denial reason, const char *other)
{
        struct denial_note note = { .reason = reason,
                                    .host = c->host.text,
                                    .other = other ? other : "",
                                    .port = c->port,
                                    .client = &c->from,
                                    .to = &c->to };

        denials_tell(c->wall, &note);
}

void
connection_deny(struct connection *c, enum denial reason, const char *other)
{
        connection_tell(c, reason, other);
        connection_reply(c, reason, other);
}

void
connection_reply(struct connection *c, enum denial reason, const char *other)
{
        char answer[ANSWER_MAX], address[INET6_ADDRSTRLEN];
        size_t len;

        switch (c->protocol) {
        case PROTOCOL_TLS:
                leave_tls(c, reason);
                return;
        case PROTOCOL_HTTP2:
                leave_http2(c, reason, other);
                return;
        case PROTOCOL_HTTP1:
                len = refusal_http(reason, asked_for(c, address), c->port, other, answer,
                                   sizeof answer);
                if (len > 0) {
                        connection_leave(c, answer, len);
                        return;
                }
                break;
        case PROTOCOL_TCP:
        case PROTOCOL_UNKNOWN:
                break;
        }
        connection_reset(c);
}
