/*
 * fuzz/http1.c - any bytes as what a client sends on a plain HTTP/1 connection.
 *
 * Beyond not crashing: byte by byte the same requests are reported, the same bytes pass, and the
 * same error ends it; nothing of a request passes before leave was given; and no reported request
 * is for another host than the Host in its bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

struct seen {
        size_t passed, requests;
        enum http1_verdict end;
        uint32_t hash;
        char reason[48];
};

static void
mix(struct seen *s, const void *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                s->hash = (s->hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
}

/* Its host is in the head, after the name of the field. */
static void
request_check(const struct http1_request *r, const char *head, size_t len)
{
        const char *end = memmem(head, len, "\r\n\r\n", 4);

        must(end != NULL && r->host.host[0] != '\0');
        must(memmem(head, (size_t)(end - head), r->host.host, strlen(r->host.host)) != NULL);
        if (r->form == HTTP1_ABSOLUTE)
                must(strcasecmp(r->host.host, r->target.host) == 0 &&
                     r->host.port == r->target.port);
}

static struct seen
carry(const char *bytes, size_t len, size_t step)
{
        static struct http1 j;
        struct seen s = { .end = HTTP1_MORE };
        size_t there = 0, pass;

        http1_init(&j);
        do {
                there = there + step < len ? there + step : len;
                for (;;) {
                        struct error e = { .code = ERROR_NONE };

                        s.end = http1_take(&j, bytes + s.passed, there - s.passed, &pass, &e);
                        must(pass <= there - s.passed);
                        s.passed += pass;
                        if (s.end == HTTP1_NO_HOST || s.end == HTTP1_MALFORMED) {
                                memcpy(s.reason, e.reason, sizeof s.reason);
                                must(e.code != ERROR_NONE);
                                return s;
                        }
                        if (s.end == HTTP1_MORE)
                                break;
                        must(http1_take(&j, bytes + s.passed, there - s.passed, &pass, &e) ==
                                     s.end &&
                             pass == 0);
                        if (s.end == HTTP1_WAITING) {
                                http1_switched(&j, len % 2 == 0);
                                continue;
                        }
                        request_check(&j.request, bytes + s.passed, there - s.passed);
                        s.requests++;
                        mix(&s, j.request.host.host, strlen(j.request.host.host));
                        mix(&s, &j.request.form, sizeof j.request.form);
                        mix(&s, &j.request.upgrade, sizeof j.request.upgrade);
                        if (j.request.form == HTTP1_AUTHORITY)
                                return s; /* refused, or the caller's */
                        http1_permit(&j);
                }
                must(there - s.passed < HTTP1_HEAD_MAX);
        } while (there < len);
        return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct seen whole = carry((const char *)data, len, len + 1),
                    pieces = carry((const char *)data, len, 1);

        must(whole.passed == pieces.passed && whole.requests == pieces.requests &&
             whole.end == pieces.end && whole.hash == pieces.hash);
        must(strcmp(whole.reason, pieces.reason) == 0);
        (void)http1_answer_status((const char *)data, len);
        return 0;
}
