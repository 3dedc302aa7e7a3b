/*
 * fuzz/http.c - any bytes as a connection's requests, as a request for a port, and as a server's
 * answer.
 *
 * Beyond not crashing: what http_head.h lets through the parser reads as well, or it is refused;
 * both end a message at the same byte, however the bytes were cut; and a head that is rewritten for
 * the other side passes it again, with the same framing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "door/facades.h"
#include "http/admit.h"
#include "http/route.h"
#include "ingress/head.h"
#include "proto/http_head.h"
#include "proto/http_reader.h"
#include "rest/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
count(void *data, const char *bytes, size_t len)
{
        *(size_t *)data += len;
}

/* Reads the body in steps. Answers how many bytes were the message's; -1: refused, or not whole. */
static long
read_body(const struct http_head *h, struct reader *r, const char *bytes, size_t len, size_t step,
          size_t *carried)
{
        struct http_body b;
        struct error e;
        size_t at = 0, taken;

        http_body_init(&b, h);
        while (at < len && !b.is_over) {
                size_t most = len - at < step ? len - at : step;

                if (http_body_take(&b, bytes + at, most, &taken, &e) < 0 ||
                    reader_body(r, bytes + at, taken, count, carried, &e) < 0)
                        return -1;
                must(taken <= most);
                at += taken;
        }
        if (h->framing != HTTP_UNTIL_CLOSE)
                must(b.is_over == r->is_complete);
        return b.is_over ? (long)at : -1;
}

/* One message at the front. Answers its length; 0: none that is whole and well-formed. */
static size_t
take(const char *bytes, size_t len, unsigned methods, size_t step, struct http_head *h,
     char **ret_head)
{
        size_t at = 0, head_len = 0, carried = 0;
        struct reader r;
        struct error e;
        long body;

        *ret_head = NULL;
        if (http_head_scan(bytes, len, &at, &head_len, &e) != 1)
                return 0;
        must(head_len <= len && head_len <= HTTP_HEAD_MAX);
        *ret_head = malloc(head_len);
        must(*ret_head != NULL);
        memcpy(*ret_head, bytes, head_len); /* exactly as long: a sanitizer sees a byte too many */
        if (http_head_read(*ret_head, head_len, methods, h, &e) < 0)
                return 0;
        reader_init(&r, methods == 0, 0);
        if (reader_head(&r, *ret_head, h, &e) < 0)
                return 0;
        if (methods == 0 && h->status < 200)
                return head_len;
        body = read_body(h, &r, bytes + head_len, len - head_len, step, &carried);
        if (body >= 0 && h->framing == HTTP_LENGTH)
                must(carried == h->length);
        return body < 0 ? 0 : head_len + (size_t)body;
}

static void
pass_on(const struct http_head *h)
{
        struct ingress_target t;
        struct http_head again;
        struct bytes out = { 0 };
        struct error e;
        size_t at = 0, len;

        if (ingress_find(h, &t, &e) < 0)
                return;
        must(ingress_write_request(h, &t, &out) == 0);
        if (out.len <= HTTP_HEAD_MAX && http_head_scan(out.at, out.len, &at, &len, &e) >= 0) {
                must(len == out.len);
                if (http_head_read(out.at, out.len, HTTP_METHODS_PROXY, &again, &e) == 0)
                        must(again.framing == h->framing && again.length == h->length &&
                             again.method == h->method &&
                             !http_head_find(&again, "x-carrel-token"));
                else
                        must(e.code == ERROR_HEADERS_TOO_LARGE ||
                             e.code == ERROR_TARGET_TOO_LONG); /* ours were added to it */
        }
        bytes_fini(&out);
}

static void
give_back(const struct http_head *h)
{
        const struct ingress_target t = { .token = "token", .is_prefix = 1 };
        struct http_head again;
        struct bytes out = { 0 };
        struct error e;
        size_t at = 0, len;
        int is_chunked = h->framing == HTTP_CHUNKED || h->framing == HTTP_UNTIL_CLOSE;

        must(ingress_write_answer(h, &t, is_chunked, 1, &out) == 0);
        if (out.len <= HTTP_HEAD_MAX && http_head_scan(out.at, out.len, &at, &len, &e) == 1) {
                must(len == out.len);
                if (http_head_read(out.at, out.len, 0, &again, &e) == 0)
                        must(again.status == h->status &&
                             (again.framing == HTTP_CHUNKED) == is_chunked &&
                             (again.is_last || h->status == 101));
                else
                        must(e.code == ERROR_HEADERS_TOO_LARGE);
        }
        bytes_fini(&out);
}

/* What is asked of a head after it was read: fields as C strings. */
static void
judge(struct http_head *h)
{
        struct api_peer peer = { 0 };
        struct route route;
        struct error e;
        char allow[64], *target;

        for (size_t i = 0; i < h->field_count; i++) {
                ((char *)(uintptr_t)h->fields[i].name.at)[h->fields[i].name.len] = '\0';
                ((char *)(uintptr_t)h->fields[i].value.at)[h->fields[i].value.len] = '\0';
        }
        (void)admit_origin(h, 1, &e);
        (void)admit_credential(h, 1, &peer, &e);
        (void)admit_body(h, 0, 100, &e);
        if (http_head_find(h, "range"))
                (void)range_read(http_head_find(h, "range")->value.at);
        target = strndup(h->target.at, h->target.len);
        must(target != NULL);
        (void)admit_query(target, &e);
        (void)route_find(door_facades, "GET", target, &route, allow, sizeof allow, &e);
        free(target);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        const char *bytes = (const char *)data;
        struct http_head h, other;
        char *head, *other_head;

        for (size_t at = 0, used = 1; at < len && used > 0; at += used) {
                used = take(bytes + at, len - at, HTTP_METHODS_PROXY, len, &h, &head);
                must(used <= len - at);
                if (used > 0) {
                        must(take(bytes + at, len - at, HTTP_METHODS_PROXY, 1, &other,
                                  &other_head) == used);
                        free(other_head);
                        pass_on(&h);
                        judge(&h);
                }
                free(head);
        }
        if (take(bytes, len, 0, len, &h, &head) > 0)
                give_back(&h);
        free(head);
        return 0;
}
