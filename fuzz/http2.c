/*
 * fuzz/http2.c - any bytes as what a client sends on a cleartext HTTP/2 connection, behind its
 * preface.
 *
 * Beyond not crashing: byte by byte the same requests are reported, the same bytes pass, and the
 * same error ends it; nothing of a request passes before leave was given; and nghttp2's own server,
 * given the bytes that passed, sees no request for another host than those that were reported.
 */
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/http2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { REQUESTS_MAX = 256 };

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

struct seen {
        size_t passed, requests;
        enum http2_verdict end;
        char reason[48];
        struct http2_request told[REQUESTS_MAX];
};

static void
carry(const uint8_t *bytes, size_t len, size_t step, struct seen *s)
{
        struct http2 *j = http2_new();
        size_t there = 0, pass;

        must(j != NULL);
        memset(s, 0, sizeof *s);
        do {
                struct error e = { .code = ERROR_NONE };

                there = there + step < len ? there + step : len;
                for (;;) {
                        s->end = http2_take(j, bytes + s->passed, there - s->passed, &pass, &e);
                        must(pass <= there - s->passed);
                        s->passed += pass;
                        if (s->end != HTTP2_REQUEST || s->requests == REQUESTS_MAX)
                                break;
                        must(http2_take(j, bytes + s->passed, there - s->passed, &pass, &e) ==
                                     HTTP2_REQUEST &&
                             pass == 0);
                        s->told[s->requests++] = *http2_request(j);
                        http2_permit(j);
                }
                must(s->end != HTTP2_MORE || there - s->passed < HTTP2_BLOCK_MAX);
                if (s->end != HTTP2_MORE)
                        memcpy(s->reason, e.reason, sizeof s->reason);
        } while (there < len && s->end == HTTP2_MORE);
        http2_free(j);
}

/* -- the server
 * -----------------------------------------------------------------------------------------------------
 */

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
          size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *data)
{
        const struct seen *s = data;
        int is_host = (name_len == 10 && memcmp(name, ":authority", 10) == 0) ||
                      (name_len == 4 && memcmp(name, "host", 4) == 0);

        if (!is_host || frame->hd.type != NGHTTP2_HEADERS)
                return 0;
        for (size_t i = 0; i < s->requests; i++) {
                size_t host = strlen(s->told[i].host.host);

                if (s->told[i].stream == (uint32_t)frame->hd.stream_id && len >= host &&
                    strncasecmp(s->told[i].host.host, (const char *)value, host) == 0 &&
                    (len == host || value[host] == ':'))
                        return 0;
        }
        must(0);
        return 0;
}

static ssize_t
on_send(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags, void *data)
{
        return (ssize_t)len;
}

static void
serve(const uint8_t *bytes, struct seen *s)
{
        nghttp2_session_callbacks *callbacks;
        nghttp2_session *session;

        must(nghttp2_session_callbacks_new(&callbacks) == 0);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
        must(nghttp2_session_server_new(&session, callbacks, s) == 0);
        (void)nghttp2_submit_settings(session, 0, NULL, 0);
        if (nghttp2_session_mem_recv(session, bytes, s->passed) >= 0)
                (void)nghttp2_session_send(session);
        nghttp2_session_del(session);
        nghttp2_session_callbacks_del(callbacks);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        static struct seen whole, pieces;
        size_t all = sizeof preface - 1 + len;
        uint8_t *bytes = malloc(all);

        must(bytes != NULL);
        memcpy(bytes, preface, sizeof preface - 1);
        memcpy(bytes + sizeof preface - 1, data, len);
        carry(bytes, all, all, &whole);
        carry(bytes, all, 1, &pieces);
        must(whole.passed == pieces.passed && whole.requests == pieces.requests &&
             whole.end == pieces.end && strcmp(whole.reason, pieces.reason) == 0);
        for (size_t i = 0; i < whole.requests; i++)
                must(strcmp(whole.told[i].host.host, pieces.told[i].host.host) == 0 &&
                     whole.told[i].stream == pieces.told[i].stream);
        serve(bytes, &whole);
        free(bytes);
        return 0;
}
