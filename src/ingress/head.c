/*
 * ingress/head.c - checks and rewrites HTTP heads for the port proxy.
 *
 * Room: ingress (joining). Touches: mem.
 * Theory: no head is forwarded as received. http_head.h splits it, and a new head is written from
 * its parts, none of which can hold a line end. So neither side can send the other anything that
 * http_head.h did not understand (G12).
 */
#include "ingress/head.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* -- the token --------------------------------------------------------------------------------- */

static int
is_token_byte(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
}

static int
take_token(struct http_text text, struct ingress_target *ret, struct error *e)
{
        size_t len = 0;

        while (len < text.len && is_token_byte(text.at[len]))
                len++;
        if (len == 0 || len != text.len || len > INGRESS_TOKEN_MAX)
                return fail_at(e, ERROR_FORBIDDEN, "token", "token",
                               "this is not a token of a port");
        if (ret->token[0] != '\0' &&
            (strlen(ret->token) != len || memcmp(ret->token, text.at, len) != 0))
                return fail_at(e, ERROR_FORBIDDEN, "token", "token",
                               "the request contains two different tokens");
        memcpy(ret->token, text.at, len);
        ret->token[len] = '\0';
        return 0;
}

static struct http_text
host_name(struct http_text host)
{
        const char *colon =
                host.len > 0 && host.at[0] != '[' ? memchr(host.at, ':', host.len) : NULL;

        if (host.len > 0 && host.at[0] == '[') {
                const char *close = memchr(host.at, ']', host.len);

                return close ? (struct http_text){ host.at, (size_t)(close - host.at) + 1 } : host;
        }
        return colon ? (struct http_text){ host.at, (size_t)(colon - host.at) } : host;
}

static int
ends_in_localhost(struct http_text name)
{
        static const char tail[] = ".localhost";

        return name.len > sizeof tail - 1 &&
               strncasecmp(name.at + name.len - (sizeof tail - 1), tail, sizeof tail - 1) == 0;
}

static int
find_in_host(const struct http_head *h, struct ingress_target *ret, struct error *e)
{
        struct http_text name = host_name(http_head_find(h, "host")->value);

        if (http_text_is(name, "localhost") || http_text_is(name, "127.0.0.1") ||
            http_text_is(name, "[::1]"))
                return 0;
        if (!ends_in_localhost(name))
                return fail_at(e, ERROR_FORBIDDEN, "Host", "host",
                               "the Host of the request is not this machine");
        name.len -= strlen(".localhost");
        return take_token(name, ret, e);
}

static int
find_in_path(const struct http_head *h, struct ingress_target *ret, struct error *e)
{
        struct http_text token = { h->target.at + 2, 0 };

        ret->path = h->target;
        if (h->target.len < 3 || h->target.at[1] != '~' || ret->token[0] != '\0')
                return 0;
        while (token.len < h->target.len - 2 && token.at[token.len] != '/' &&
               token.at[token.len] != '?')
                token.len++;
        if (take_token(token, ret, e) < 0)
                return -1;
        ret->is_prefix = 1;
        ret->path = (struct http_text){ token.at + token.len, h->target.len - 2 - token.len };
        return 0;
}

/*
 * CORS does not apply to web sockets, so the server, or a proxy before it, must check the origin.
 */
static int
check_upgrade(const struct http_head *h, struct ingress_target *ret, struct error *e)
{
        const struct http_field *origin = http_head_find(h, "origin"),
                                *host = http_head_find(h, "host");

        ret->wants_upgrade = h->wants_upgrade && http_head_find(h, "upgrade") != NULL &&
                             h->method == HTTP_METHOD_GET && h->minor == 1;
        if (!ret->wants_upgrade || !origin)
                return 0;
        if (origin->value.len != host->value.len + 7 ||
            strncmp(origin->value.at, "http://", 7) != 0 ||
            strncasecmp(origin->value.at + 7, host->value.at, host->value.len) != 0)
                return fail_at(e, ERROR_FORBIDDEN, "Origin", "origin",
                               "a page of another origin asks for a web socket");
        return 0;
}

int
ingress_no_token(struct error *e, const char *reason, const char *sentence)
{
        (void)fail_at(e, ERROR_FORBIDDEN, "token", reason, "%s", sentence);
        error_hint(e, "`carrel url ID PORT`, or GET /v1/sandboxes/ID/ports/PORT at the daemon, "
                      "gives the URL of a port with its token.");
        return -1;
}

/* Stores our host name without the token. */
static void
note_called(const struct http_head *h, struct ingress_target *ret)
{
        struct http_text host = http_head_find(h, "host")->value, name = host_name(host),
                         rest = { name.at + name.len, host.len - name.len };

        if (ends_in_localhost(name))
                name = (struct http_text){ "localhost", 9 };
        if (name.len + rest.len <= INGRESS_HOST_MAX)
                (void)snprintf(ret->called, sizeof ret->called, "%.*s%.*s", (int)name.len, name.at,
                               (int)rest.len, rest.at);
}

int
ingress_find(const struct http_head *h, struct ingress_target *ret, struct error *e)
{
        const struct http_field *header = http_head_find(h, "x-carrel-token");

        *ret = (struct ingress_target){ 0 };
        if ((header && take_token(header->value, ret, e) < 0) || find_in_host(h, ret, e) < 0 ||
            find_in_path(h, ret, e) < 0)
                return -1;
        if (ret->token[0] == '\0')
                return ingress_no_token(e, "missing",
                                        "a port is reached with its token: /~TOKEN/ before the "
                                        "path, TOKEN.localhost, or X-Carrel-Token");
        note_called(h, ret);
        return check_upgrade(h, ret, e);
}

/* -- writing heads ----------------------------------------------------------------------------- */

static const char *const hop_by_hop[] = {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "http2-settings",
};

static int
is_one_of(struct http_text name, const char *const *names, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (http_text_is(name, names[i]))
                        return 1;
        return 0;
}

/* Fields for one hop only: the known ones, and those that Connection names. */
static int
is_of_this_hop(const struct http_head *h, struct http_text name)
{
        char word[64];

        if (is_one_of(name, hop_by_hop, sizeof hop_by_hop / sizeof *hop_by_hop))
                return 1;
        if (name.len >= sizeof word)
                return 0;
        (void)snprintf(word, sizeof word, "%.*s", (int)name.len, name.at);
        for (size_t i = 0; i < h->field_count; i++)
                if (http_text_is(h->fields[i].name, "connection") &&
                    http_list_has(h->fields[i].value, word))
                        return 1;
        return 0;
}

static int
put_field(struct bytes *out, struct http_text name, struct http_text value)
{
        return bytes_put(out, name.at, name.len) | bytes_text(out, ": ") |
               bytes_put(out, value.at, value.len) | bytes_text(out, "\r\n");
}

static int
holds(struct http_text text, const char *word)
{
        return memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static int
put_framing(struct bytes *out, enum http_framing framing, uint64_t length, int says_zero)
{
        char line[64] = "";

        if (framing == HTTP_CHUNKED)
                (void)snprintf(line, sizeof line, "Transfer-Encoding: chunked\r\n");
        else if (framing == HTTP_LENGTH || says_zero)
                (void)snprintf(line, sizeof line, "Content-Length: %llu\r\n",
                               (unsigned long long)length);
        return bytes_text(out, line);
}

/*
 * Some servers turn field names into variables and read `_` as `-`. A field that is dropped in one
 * spelling is dropped in both.
 */
static struct http_text
spelled_plainly(struct http_text name, char room[64])
{
        if (name.len >= 64 || !memchr(name.at, '_', name.len))
                return name;
        for (size_t i = 0; i < name.len; i++)
                room[i] = name.at[i] == '_' ? '-' : name.at[i];
        return (struct http_text){ room, name.len };
}

/* A page behind one port must not send its own token to the server of another port. */
static int
is_telling(struct http_text name, struct http_text value)
{
        return http_text_is(name, "referer") && (holds(value, "/~") || holds(value, ".localhost"));
}

/* -- cookies with the token in the path -------------------------------------------------------- */

/*
 * All services on one host name share its cookies, on every port, including other services of this
 * machine. A cookie that is set through a path therefore gets a name derived from its token
 * (FNV-1a); no other cookie is passed on.
 */
enum { COOKIE_TAG = 18 };

static void
cookie_tag(const struct ingress_target *t, char ret[COOKIE_TAG + 1])
{
        uint64_t mark = UINT64_C(0xcbf29ce484222325);

        for (const char *at = t->token; *at != '\0'; at++)
                mark = (mark ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
        (void)snprintf(ret, COOKIE_TAG + 1, "c%016llx.", (unsigned long long)mark);
}

/* Takes the next part up to a semicolon, without surrounding white space. Returns 0 at the end. */
static int
next_part(struct http_text *rest, struct http_text *ret)
{
        const char *end = rest->len > 0 ? memchr(rest->at, ';', rest->len) : NULL;
        struct http_text part = { rest->at, end ? (size_t)(end - rest->at) : rest->len };

        if (rest->len == 0)
                return 0;
        rest->at += part.len + (end != NULL);
        rest->len -= part.len + (end != NULL);
        for (; part.len > 0 && (part.at[0] == ' ' || part.at[0] == '\t'); part.at++)
                part.len--;
        while (part.len > 0 && (part.at[part.len - 1] == ' ' || part.at[part.len - 1] == '\t'))
                part.len--;
        *ret = part;
        return 1;
}

static int
put_own_cookies(struct bytes *out, const struct ingress_target *t, struct http_text value)
{
        char tag[COOKIE_TAG + 1];
        struct http_text part;
        int bad = 0, count = 0;

        cookie_tag(t, tag);
        while (next_part(&value, &part)) {
                if (part.len <= COOKIE_TAG || memcmp(part.at, tag, COOKIE_TAG) != 0)
                        continue;
                bad |= bytes_text(out, count++ == 0 ? "Cookie: " : "; ") |
                       bytes_put(out, part.at + COOKIE_TAG, part.len - COOKIE_TAG);
        }
        return count > 0 ? bad | bytes_text(out, "\r\n") : 0;
}

int
ingress_write_request(const struct http_head *h, const struct ingress_target *t, struct bytes *out)
{
        static const char *const ours[] = { "host",
                                            "x-carrel-token",
                                            "expect",
                                            "forwarded",
                                            "x-forwarded-for",
                                            "x-forwarded-host",
                                            "x-forwarded-proto",
                                            "x-forwarded-prefix",
                                            "x-forwarded-port",
                                            "x-real-ip" };
        const struct http_field *upgrade = http_head_find(h, "upgrade");
        int bad = bytes_text(out, http_method_name(h->method)) |
                  bytes_text(out, t->path.len > 0 && t->path.at[0] == '/' ? " " : " /") |
                  bytes_put(out, t->path.at, t->path.len) |
                  bytes_text(out, " HTTP/1.1\r\nHost: localhost\r\n");
        char room[64];

        for (size_t i = 0; i < h->field_count; i++) {
                struct http_text name = h->fields[i].name, value = h->fields[i].value;

                if (is_of_this_hop(h, spelled_plainly(name, room)) ||
                    is_one_of(spelled_plainly(name, room), ours, sizeof ours / sizeof *ours) ||
                    is_telling(name, value))
                        continue;
                /* an Origin or Referer with our name that contains the token */
                if (holds(value, t->token)) {
                        if (!http_text_is(name, "origin"))
                                continue;
                        value = (struct http_text){ "http://localhost", 16 };
                } else if (t->wants_upgrade && http_text_is(name, "origin")) {
                        /* it was our origin, so it becomes the server's own */
                        value = (struct http_text){ "http://localhost", 16 };
                }
                bad |= t->is_prefix && http_text_is(name, "cookie") ? put_own_cookies(out, t, value)
                                                                    : put_field(out, name, value);
        }
        bad |= bytes_text(out, "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\n");
        if (t->called[0] != '\0')
                bad |= bytes_text(out, "X-Forwarded-Host: ") | bytes_text(out, t->called) |
                       bytes_text(out, "\r\n");
        bad |= put_framing(out, h->framing, h->length, http_head_find(h, "content-length") != NULL);
        if (t->wants_upgrade)
                bad |= bytes_text(out, "Connection: Upgrade\r\nUpgrade: ") |
                       bytes_put(out, upgrade->value.at, upgrade->value.len) |
                       bytes_text(out, "\r\n");
        else
                bad |= bytes_text(out, "Connection: close\r\n");
        return (bad | bytes_text(out, "\r\n")) != 0 ? -1 : 0;
}

/*
 * Is this part of a cookie the attribute `name`? Its value goes to `ret`, without surrounding white
 * space.
 */
static int
is_attribute(struct http_text part, const char *name, struct http_text *ret)
{
        size_t len = strlen(name), at = 0;

        while (at < part.len && (part.at[at] == ' ' || part.at[at] == '\t'))
                at++;
        if (part.len - at < len || strncasecmp(part.at + at, name, len) != 0)
                return 0;
        for (at += len; at < part.len && (part.at[at] == ' ' || part.at[at] == '\t'); at++)
                ;
        if (at < part.len && part.at[at] != '=')
                return 0;
        for (at += at < part.len; at < part.len && (part.at[at] == ' ' || part.at[at] == '\t');
             at++)
                ;
        *ret = (struct http_text){ part.at + at, part.len - at };
        return 1;
}

static int
put_attribute(struct bytes *out, const struct ingress_target *t, struct http_text part)
{
        struct http_text value;

        if (is_attribute(part, "domain", &value))
                return 0;
        if (!t->is_prefix || !is_attribute(part, "path", &value) || value.len == 0 ||
            value.at[0] != '/')
                return bytes_text(out, ";") | bytes_put(out, part.at, part.len);
        return bytes_text(out, "; Path=/~") | bytes_text(out, t->token) |
               bytes_put(out, value.at, value.len);
}

/*
 * Writes a cookie without its Domain, and with its Path below the prefix of its server. So it is
 * valid only for the host and port that set it; all ports with a prefix share one host name. With a
 * prefix it is also renamed.
 */
static int
put_cookie(struct bytes *out, const struct ingress_target *t, struct http_text value)
{
        int bad = bytes_text(out, "Set-Cookie: "), is_first = 1;
        char tag[COOKIE_TAG + 1] = "";
        size_t blank = 0;

        while (blank < value.len && (value.at[blank] == ' ' || value.at[blank] == '\t'))
                blank++;
        value.at += blank;
        value.len -= blank;
        if (t->is_prefix)
                cookie_tag(t, tag);
        bad |= bytes_text(out, tag);
        while (value.len > 0) {
                const char *end = memchr(value.at, ';', value.len);
                struct http_text part = { value.at, end ? (size_t)(end - value.at) : value.len };
                size_t used = part.len + (end != NULL);

                bad |= is_first ? bytes_put(out, part.at, part.len) : put_attribute(out, t, part);
                is_first = 0;
                value.at += used;
                value.len -= used;
        }
        return bad | bytes_text(out, "\r\n");
}

/*
 * Is this the server's own name? The server knows its port, and got a Host and an X-Forwarded-Host.
 */
static int
is_own_name(const struct ingress_target *t, struct http_text authority)
{
        static const char *const loopback[] = { "localhost", "127.0.0.1", "[::1]" };
        char port[8];

        (void)snprintf(port, sizeof port, ":%u", t->port);
        for (size_t i = 0; t->port != 0 && i < sizeof loopback / sizeof *loopback; i++) {
                size_t len = strlen(loopback[i]);

                if (authority.len == len + strlen(port) &&
                    strncasecmp(authority.at, loopback[i], len) == 0 &&
                    memcmp(authority.at + len, port, strlen(port)) == 0)
                        return 1;
        }
        return http_text_is(authority, "localhost") ||
               (t->called[0] != '\0' && http_text_is(authority, t->called));
}

/*
 * Accepts a path, or a URL with the server's own name, which is reduced to its path. Returns 0 for
 * any other destination.
 */
static int
find_own_path(const struct ingress_target *t, struct http_text *value)
{
        static const char scheme[] = "http://";
        struct http_text authority, path = *value;

        if (path.len >= sizeof scheme - 1 && strncasecmp(path.at, scheme, sizeof scheme - 1) == 0) {
                authority = (struct http_text){ path.at + sizeof scheme - 1, 0 };
                while (authority.len < path.len - (sizeof scheme - 1) &&
                       !strchr("/?#", authority.at[authority.len]))
                        authority.len++;
                if (!is_own_name(t, authority))
                        return 0;
                path = (struct http_text){ authority.at + authority.len,
                                           path.len - (sizeof scheme - 1) - authority.len };
                if (path.len > 0 && path.at[0] != '/')
                        return 0;
                if (path.len == 0)
                        path = (struct http_text){ "/", 1 };
        }
        if (path.len == 0 || path.at[0] != '/' || (path.len > 1 && path.at[1] == '/'))
                return 0;
        *value = path;
        return 1;
}

/* Adds the prefix to a path of the server, if the client used a prefix. */
static int
put_location(struct bytes *out, const struct ingress_target *t, struct http_text value)
{
        int is_own = find_own_path(t, &value), bad = bytes_text(out, "Location: ");

        if (is_own && t->is_prefix)
                bad |= bytes_text(out, "/~") | bytes_text(out, t->token);
        return bad | bytes_put(out, value.at, value.len) | bytes_text(out, "\r\n");
}

/*
 * The URL of a page holds its token, so it must not be sent to other sites. A stricter policy of
 * the page is kept.
 */
static int
put_referrer_policy(struct bytes *out, const struct http_head *h)
{
        int is_stricter = 0;

        for (size_t i = 0; i < h->field_count; i++)
                is_stricter |= http_text_is(h->fields[i].name, "referrer-policy") &&
                               http_text_is(h->fields[i].value, "no-referrer");
        return bytes_text(out, is_stricter ? "Referrer-Policy: no-referrer\r\n"
                                           : "Referrer-Policy: same-origin\r\n");
}

int
ingress_write_answer(const struct http_head *h, const struct ingress_target *t, int is_chunked,
                     int closes, struct bytes *out)
{
        /* Fields that would affect the whole host name, of which the sandbox is only one port. */
        static const char *const never[] = { "strict-transport-security",
                                             "alt-svc",
                                             "public-key-pins",
                                             "clear-site-data",
                                             "x-carrel-token",
                                             "nel",
                                             "report-to",
                                             "referrer-policy" };
        const struct http_field *upgrade = http_head_find(h, "upgrade");
        char line[64];
        int bad;

        (void)snprintf(line, sizeof line, "HTTP/1.1 %03d %s\r\n", h->status,
                       h->status == 101 ? "Switching Protocols" : "Answer");
        bad = bytes_text(out, line);
        for (size_t i = 0; i < h->field_count; i++) {
                struct http_text name = h->fields[i].name, value = h->fields[i].value;

                if (is_of_this_hop(h, name) ||
                    is_one_of(name, never, sizeof never / sizeof *never) ||
                    /* its worker would intercept requests to all other ports */
                    (t->is_prefix && http_text_is(name, "service-worker-allowed")))
                        continue;
                bad |= http_text_is(name, "set-cookie") ? put_cookie(out, t, value)
                       : http_text_is(name, "location") ? put_location(out, t, value)
                                                        : put_field(out, name, value);
        }
        bad |= put_referrer_policy(out, h);
        if (h->status == 101) {
                bad |= bytes_text(out, "Connection: Upgrade\r\nUpgrade: ") |
                       bytes_put(out, upgrade ? upgrade->value.at : "",
                                 upgrade ? upgrade->value.len : 0) |
                       bytes_text(out, "\r\n");
        } else {
                bad |= put_framing(out,
                                   is_chunked                  ? HTTP_CHUNKED
                                   : h->framing == HTTP_LENGTH ? HTTP_LENGTH
                                                               : HTTP_NO_BODY,
                                   h->length,
                                   h->framing == HTTP_NO_BODY &&
                                           http_head_find(h, "content-length") != NULL &&
                                           h->status >= 200 && h->status != 204);
                if (closes)
                        bad |= bytes_text(out, "Connection: close\r\n");
        }
        return (bad | bytes_text(out, "\r\n")) != 0 ? -1 : 0;
}
