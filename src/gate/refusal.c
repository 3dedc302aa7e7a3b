/*
 * gate/refusal.c - saying no, so that it can be read: to the one who asked, in the protocol it speaks, and to the box.
 *
 * Room: gate (acting). Touches: net.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "gate/connection_parts.h"

enum { TEXT_MAX = 900, ANSWER_MAX = 2048, TLS_UNRECOGNIZED_NAME = 112, TLS_ACCESS_DENIED = 49, TLS_INTERNAL_ERROR = 80, HTTP2_REFUSED = 0xb /* ENHANCE_YOUR_CALM */ };

/* As JSON's strings are written; what is no printable ASCII becomes "?": none of it should be there. */
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

/* Who was asked for: the name, or the address where no name leads to it. That of the proxy (asked on its own port for another) is nobody's. */
static const char *
asked_for(const struct connection *c, char ret[INET6_ADDRSTRLEN])
{
        const struct in6_addr *to = &c->to.sin6_addr;
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(to) != 0;

        if (c->host.text[0] != '\0' || ntohs(c->to.sin6_port) != c->port)
                return c->host.text;
        return inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? to->s6_addr + 12 : to->s6_addr, ret, INET6_ADDRSTRLEN) ? ret : "";
}

static int
status_of(enum denial reason)
{
        switch (reason) {
        case DENIAL_UNRESOLVED:
        case DENIAL_UNREACHABLE:
        case DENIAL_FAILED:     return 502;
        case DENIAL_MALFORMED:
        case DENIAL_HOST_NONE:  return 400;
        case DENIAL_TOO_MANY:
        case DENIAL_BYTES:      return 429;
        default:                return 403;
        }
}

size_t
refusal_http(enum denial reason, const char *host, uint16_t port, const char *other, char *ret, size_t room)
{
        char text[TEXT_MAX], message[TEXT_MAX + 64], name[EGRESS_HOST_MAX + 8], body[TEXT_MAX + 600];
        int status = status_of(reason), body_len, len;

        (void)denial_text(reason, host, port, other ? other : "", text, sizeof text);
        write_json(text, message, sizeof message);
        write_json(host, name, sizeof name);
        body_len = snprintf(body, sizeof body, "{\"code\":\"%s\",\"host\":\"%s\",\"port\":%u,\"message\":\"%s\"}\n", denial_name(reason), name, (unsigned)port, message);
        if (body_len < 0 || (size_t)body_len >= sizeof body)
                body_len = snprintf(body, sizeof body, "{\"code\":\"%s\"}\n", denial_name(reason));
        len = snprintf(ret, room,
                       "HTTP/1.1 %d Refused by the sandbox's gate\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Carrel-Denied: %s\r\n"
                       "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                       status, body_len, denial_name(reason), body);
        return len < 0 || (size_t)len >= room ? 0 : (size_t)len;
}

/* One fatal alert; the record's version is that of a first answer. */
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

/* Empty SETTINGS, then GOAWAY with the reason as debug data. */
static void
leave_http2(struct connection *c, enum denial reason, const char *other)
{
        char bytes[9 + 9 + 8 + TEXT_MAX] = { 0 }, *goaway = bytes + 9, *text = bytes + 26, address[INET6_ADDRSTRLEN];
        size_t len;

        bytes[3] = 4;
        (void)denial_text(reason, asked_for(c, address), c->port, other ? other : "", text, TEXT_MAX);
        len = 8 + strlen(text);
        goaway[1] = (char)(len >> 8);
        goaway[2] = (char)len;
        goaway[3] = 7;
        goaway[16] = HTTP2_REFUSED;
        connection_leave(c, bytes, 9 + 9 + len);
}

void
connection_tell(struct connection *c, enum denial reason, const char *other)
{
        struct denial_note note = { .reason = reason, .host = c->host.text, .other = other ? other : "", .port = c->port, .client = &c->from, .to = &c->to };

        denials_tell(c->wall, &note);
}

void
connection_refuse(struct connection *c, enum denial reason, const char *other)
{
        connection_tell(c, reason, other);
        connection_answer(c, reason, other);
}

void
connection_answer(struct connection *c, enum denial reason, const char *other)
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
                len = refusal_http(reason, asked_for(c, address), c->port, other, answer, sizeof answer);
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
