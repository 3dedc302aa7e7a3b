/*
 * http/admit.c - checks whether a request is admitted.
 *
 * Room: http (joining). Touches: nothing; it only reads the head.
 * Theory: a page in a browser can send requests to this machine, but it cannot choose Host, Origin
 * or Sec-Fetch-Site.
 */
#include "http/admit.h"

#include <string.h>
#include <strings.h>

static const char *
value_of(const struct http_head *h, const char *name)
{
        const struct http_field *f = http_head_find(h, name);

        return f ? f->value.at : NULL;
}

static int
is_port(const char *text)
{
        size_t digits = strspn(text, "0123456789");

        return digits >= 1 && digits <= 5 && text[digits] == '\0';
}

static int
is_local(const char *host)
{
        static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                size_t len = strlen(names[i]);

                if (strncasecmp(host, names[i], len) == 0 &&
                    (host[len] == '\0' || (host[len] == ':' && is_port(host + len + 1))))
                        return 1;
        }
        return 0;
}

static int
foreign(struct error *e, const char *header, const char *reason, const char *sentence,
        const char *hint)
{
        (void)fail_at(e, ERROR_FORBIDDEN, header, reason, "%s", sentence);
        error_hint(e, "%s", hint);
        return -1;
}

int
admit_origin(const struct http_head *h, int is_tcp, struct error *e)
{
        const char *host = value_of(h, "host"), *origin = value_of(h, "origin"),
                   *site = value_of(h, "sec-fetch-site");

        if (!host || !is_local(host))
                return foreign(e, "Host", "host", "the Host of the request is not this machine",
                               "Ask for localhost, 127.0.0.1 or [::1]; a proxy in front has to "
                               "send such a Host.");
        if (origin && (strncmp(origin, "http://", 7) != 0 || strcasecmp(origin + 7, host) != 0))
                return foreign(e, "Origin", "origin", "a page of another origin asks",
                               "Ask from a program: pages of other origins are not served.");
        if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
                return foreign(e, "Sec-Fetch-Site", "site", "a page of another site asks",
                               "Ask from a program: pages of other sites are not served.");
        return 0;
}

int
admit_query(const char *query, struct error *e)
{
        static const char *const secrets[] = { "token", "access_token", "authorization", "api_key",
                                               "bearer" };

        for (const char *at = query; *at != '\0'; at += *at == '&') {
                size_t len = strcspn(at, "=&");

                for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
                        if (strlen(secrets[i]) == len && strncasecmp(secrets[i], at, len) == 0)
                                return fail_at(
                                        e, ERROR_UNAUTHENTICATED, secrets[i], "in_url",
                                        "the URL contains a credential; URLs are kept in logs");
                at += strcspn(at, "&");
        }
        return 0;
}

int
admit_credential(const struct http_head *h, int is_tcp, struct api_peer *peer, struct error *e)
{
        const char *value = value_of(h, "authorization");
        size_t len;

        if (!value)
                return is_tcp ? fail(e, ERROR_UNAUTHENTICATED, "this listener needs a token") : 0;
        if (strncasecmp(value, "bearer ", 7) != 0)
                return fail(e, ERROR_UNAUTHENTICATED, "the only scheme is Bearer");
        value += 7 + strspn(value + 7, " ");
        len = strspn(value,
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=");
        if (len == 0 || len > 255 || value[len] != '\0')
                return fail(e, ERROR_UNAUTHENTICATED, "this is no token");
        peer->token = value;
        return 0;
}

static int
is_json(const char *type)
{
        size_t len;

        if (!type)
                return 0;
        len = strcspn(type, "; \t");
        if (len != strlen("application/json") || strncasecmp(type, "application/json", len) != 0)
                return 0;
        type += len;
        type += strspn(type, "; \t");
        return *type == '\0' || strcasecmp(type, "charset=utf-8") == 0 ||
               strcasecmp(type, "charset=\"utf-8\"") == 0;
}

int
admit_body(const struct http_head *h, int takes_any_type, uint64_t max, struct error *e)
{
        const char *coding = value_of(h, "content-encoding");

        if (h->framing == HTTP_NO_BODY)
                return 0;
        if (h->method == HTTP_METHOD_GET)
                return fail_at(e, ERROR_REQUEST_MALFORMED, NULL, "body", "a GET has no body");
        if (coding && strcasecmp(coding, "identity") != 0)
                return fail_at(e, ERROR_MEDIA_TYPE_UNSUPPORTED, "Content-Encoding", "coding",
                               "bodies are taken unpacked only");
        if (!takes_any_type && !is_json(value_of(h, "content-type")))
                return fail_at(e, ERROR_MEDIA_TYPE_UNSUPPORTED, "Content-Type", "type",
                               "this route takes application/json");
        if (h->framing == HTTP_LENGTH && h->length > max)
                return fail(e, ERROR_REQUEST_TOO_LARGE, "the body is larger than %llu bytes",
                            (unsigned long long)max);
        return 0;
}
