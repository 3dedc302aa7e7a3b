/*
 * proto/http2_test.c - H12 for cleartext HTTP/2: the request of every stream is reported before one
 * of its bytes passes, however the bytes and the header block are split.
 */
#include "proto/http2.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

#define BYTES(text) text, sizeof(text) - 1
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* HPACK: literals without indexing; the first three are in the static table. */
#define GET "\x82"
#define HTTP "\x86"
#define SLASH "\x84"
#define AUTHORITY(len, text) "\x01" len text
#define A_TEST AUTHORITY("\6", "a.test")
#define FIELD(name_len, name, value_len, value) "\0" name_len name value_len value
#define HOST(len, text) FIELD("\4", "host", len, text)

enum {
        DATA,
        HEADERS,
        PRIORITY,
        RST_STREAM,
        SETTINGS,
        PUSH_PROMISE,
        PING,
        GOAWAY,
        WINDOW_UPDATE,
        CONTINUATION
};
enum {
        END_STREAM = 1,
        END_HEADERS = 4,
        PADDED = 8,
        HAS_PRIORITY = 32,
        ENDS = END_STREAM | END_HEADERS
};

struct wire {
        uint8_t bytes[256 * 1024];
        size_t len;
};
static struct wire wire;

static void
add(const void *bytes, size_t len)
{
        assert_true(wire.len + len <= sizeof wire.bytes);
        if (len > 0)
                memcpy(wire.bytes + wire.len, bytes, len);
        wire.len += len;
}

static void
add_frame(unsigned type, unsigned flags, uint32_t stream, const void *payload, size_t len)
{
        uint8_t header[9] = {
                (uint8_t)(len >> 16),    (uint8_t)(len >> 8),    (uint8_t)len,
                (uint8_t)type,           (uint8_t)flags,         (uint8_t)(stream >> 24),
                (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream
        };

        add(header, sizeof header);
        add(payload, len);
}

static void
begin(void)
{
        wire.len = 0;
        add(PREFACE, sizeof PREFACE - 1);
        add_frame(SETTINGS, 0, 0, "", 0);
}

struct seen {
        char events[1024];
        size_t passed;
};

static void
say(struct seen *s, const char *text)
{
        size_t len = strlen(s->events);

        (void)snprintf(s->events + len, sizeof s->events - len, "%s", text);
}

static void
say_request(struct seen *s, const struct http2_request *r)
{
        char text[400];

        (void)snprintf(text, sizeof text, "[%u %s %s:%u]", r->stream, r->method, r->host.host,
                       r->host.port);
        say(s, text);
}

/*
 * Acts as the gate, as in http1_test.c. The judge sees at most as many bytes as the caller must be
 * able to hold.
 */
static struct seen
carry(size_t step, int permits)
{
        static const char *const verdicts[] = { [HTTP2_NO_HOST] = "no host",
                                                [HTTP2_CONNECT] = "connect",
                                                [HTTP2_MALFORMED] = "malformed ",
                                                [HTTP2_NO_MEMORY] = "no memory" };
        struct http2 *j = http2_new();
        struct seen s = { .events = "" };

        assert_non_null(j);
        for (size_t there = 0; there < wire.len;) {
                enum http2_verdict verdict = HTTP2_REQUEST;

                there = there + step < wire.len ? there + step : wire.len;
                while (verdict == HTTP2_REQUEST) {
                        size_t len = there - s.passed, pass;
                        uint8_t *exact = malloc(len > 0 ? len : 1);
                        struct error e = { .code = ERROR_NONE };

                        assert_non_null(exact);
                        memcpy(exact, wire.bytes + s.passed, len);
                        verdict = http2_take(j, exact, len, &pass, &e);
                        free(exact);
                        assert_true(pass <= len);
                        s.passed += pass;
                        if (verdict == HTTP2_REQUEST) {
                                say_request(&s, http2_request(j));
                                if (permits-- == 0)
                                        goto over;
                                http2_permit(j);
                        } else if (verdict != HTTP2_MORE) {
                                say(&s, verdicts[verdict]);
                                say(&s, verdict == HTTP2_MALFORMED ? e.reason : "");
                                assert_int_not_equal(e.code, ERROR_NONE);
                                assert_int_equal(http2_take(j, (const uint8_t *)"x", 1, &pass, &e),
                                                 verdict);
                                assert_int_equal(pass, 0);
                                goto over;
                        } else {
                                assert_true(there - s.passed < HTTP2_BLOCK_MAX);
                        }
                }
        }
over:
        http2_free(j);
        return s;
}

static void
expect(const char *name, const char *events, size_t passed, int permits)
{
        for (size_t step = 1; step <= wire.len + 1; step = step < 9 ? step + 1 : step * 2 + 1) {
                struct seen s = carry(step, permits);

                if (strcmp(s.events, events) != 0 || s.passed != passed)
                        fail_msg("%s in steps of %zu: %s, %zu of %zu bytes", name, step, s.events,
                                 s.passed, wire.len);
        }
}

/* One request, complete in HEADERS, after SETTINGS. */
static void
H12_heads_are_judged(void **state) /* taste: its table is long */
{
        static const struct {
                const char *block;
                size_t len;
                const char *events;
        } cases[] = {
                { BYTES(GET HTTP SLASH A_TEST), "[1 GET a.test:0]" },
                { BYTES(GET HTTP SLASH AUTHORITY("\x09", "a.test:81")), "[1 GET a.test:81]" },
                { BYTES(GET HTTP SLASH HOST("\6", "a.test")), "[1 GET a.test:0]" },
                { BYTES(GET HTTP SLASH A_TEST HOST("\6", "A.Test")), "[1 GET a.test:0]" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\2", "te", "\x08", "trailers")
                                FIELD("\1", "x", "\0", "")),
                  "[1 GET a.test:0]" },
                { BYTES("\2\7OPTIONS" HTTP "\4\1*" A_TEST), "[1 OPTIONS a.test:0]" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\x0e", "content-length", "\1", "5")),
                  "[1 GET a.test:0]" },
                /* hosts */
                { BYTES(GET HTTP SLASH), "no host" },
                { BYTES(GET HTTP SLASH A_TEST HOST("\4", "evil")), "no host" },
                { BYTES(GET HTTP SLASH A_TEST HOST("\x08", "a.test:8")), "no host" },
                { BYTES(GET HTTP SLASH A_TEST A_TEST), "malformed repeated" },
                { BYTES(GET HTTP SLASH A_TEST AUTHORITY("\4", "evil")), "malformed repeated" },
                { BYTES(GET HTTP SLASH A_TEST HOST("\6", "a.test") HOST("\6", "a.test")),
                  "malformed repeated" },
                { BYTES(GET HTTP SLASH AUTHORITY("\0", "")), "malformed field" },
                { BYTES(GET HTTP SLASH AUTHORITY("\x08", "u@a.test")), "malformed field" },
                { BYTES(GET HTTP SLASH AUTHORITY("\5", "[::1]")), "malformed field" },
                { BYTES(GET HTTP SLASH AUTHORITY("\3", "a\0b")), "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST HOST("\0", "")), "malformed field" },
                { BYTES(GET HTTP SLASH FIELD("\4", "Host", "\6", "a.test")), "malformed field" },
                /* tunnels */
                { BYTES("\2\7CONNECT" AUTHORITY("\x08", "evil:443")), "connect" },
                { BYTES("\2\7CONNECT" HTTP SLASH A_TEST FIELD("\x09", ":protocol", "\x09",
                                                              "websocket")),
                  "connect" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\x09", ":protocol", "\x09", "websocket")),
                  "malformed pseudo" },
                /* pseudo fields */
                { BYTES(HTTP SLASH A_TEST), "malformed pseudo" },
                { BYTES(GET SLASH A_TEST), "malformed pseudo" },
                { BYTES(GET HTTP A_TEST), "malformed pseudo" },
                { BYTES(GET GET HTTP SLASH A_TEST), "malformed repeated" },
                { BYTES(GET HTTP SLASH FIELD("\1", "x", "\1", "y") A_TEST), "malformed pseudo" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\7", ":status", "\3", "200")),
                  "malformed pseudo" },
                { BYTES(GET "\x87" SLASH A_TEST), "malformed field" },
                { BYTES("\2\3get" HTTP SLASH A_TEST), "malformed field" },
                { BYTES("\2\0" HTTP SLASH A_TEST), "malformed field" },
                { BYTES(GET HTTP "\4\5http:" A_TEST), "malformed field" },
                { BYTES(GET HTTP "\4\0" A_TEST), "malformed field" },
                { BYTES(GET HTTP "\4\3/ x" A_TEST), "malformed field" },
                { BYTES(GET HTTP "\4\1*" A_TEST), "malformed target" },
                /*
                 * fields of a connection, and bytes that would end a line for a server behind the
                 * gate
                 */
                { BYTES(GET HTTP SLASH A_TEST FIELD("\x11", "transfer-encoding", "\7", "chunked")),
                  "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\x0a", "connection", "\4", "host")),
                  "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\7", "upgrade", "\3", "h2c")),
                  "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\2", "te", "\4", "gzip")), "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\1", "x", "\x0d", "y\r\nhost: evil")),
                  "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\7", "x: y\r\nz", "\1", "y")),
                  "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\1", "x", "\2", "y\0")), "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\1", "x", "\2", " y")), "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\1", "X", "\1", "y")), "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\0", "", "\1", "y")), "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\x0e", "content-length", "\2", "+5")),
                  "malformed field" },
                { BYTES(GET HTTP SLASH A_TEST FIELD("\x0e", "content-length", "\1", "5")
                                FIELD("\x0e", "content-length", "\1", "6")),
                  "malformed repeated" },
                /* HPACK */
                { BYTES(GET HTTP SLASH "\x01\x07"
                                       "a.test"),
                  "malformed hpack" },
                { BYTES("\xbf"), "malformed hpack" },
                { BYTES("\x80"), "malformed hpack" },
                { BYTES(GET HTTP SLASH A_TEST "\x3f\xe1\x1f"), "malformed hpack" },
                { BYTES("\x3f\xe1\xff\3" GET HTTP SLASH A_TEST), "[1 GET a.test:0]" /* 65536 */ },
                { BYTES("\x3f\xe2\xff\3" GET HTTP SLASH A_TEST), "malformed hpack" },
                { BYTES(""), "malformed pseudo" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                size_t before;
                char name[32];

                begin();
                before = wire.len;
                add_frame(HEADERS, ENDS, 1, cases[i].block, cases[i].len);
                add_frame(PING, 0, 0, "12345678", 8);
                (void)snprintf(name, sizeof name, "case %zu", i);
                expect(name, cases[i].events, cases[i].events[0] == '[' ? wire.len : before, 9);
                expect(name, cases[i].events, before, 0);
        }
}

static void
blocks_come_in_any_shape(void **state)
{
        static const char block[] = GET HTTP SLASH A_TEST;
        size_t before;

        for (size_t cut = 0; cut <= sizeof block - 1; cut++) {
                begin();
                add_frame(HEADERS, END_STREAM, 1, block, cut);
                add_frame(CONTINUATION, END_HEADERS, 1, block + cut, sizeof block - 1 - cut);
                expect("continuation", "[1 GET a.test:0]", wire.len, 1);
        }
        begin();
        add_frame(HEADERS, ENDS | PADDED | HAS_PRIORITY, 1,
                  "\3\0\0\0\0\x10" GET HTTP SLASH A_TEST "\0\0\0", 6 + sizeof block - 1 + 3);
        expect("padding and priority", "[1 GET a.test:0]", wire.len, 1);
        begin();
        before = wire.len;
        add_frame(HEADERS, ENDS | PADDED, 1, "\x0e" GET HTTP SLASH A_TEST, sizeof block);
        expect("too much padding", "malformed padding", before, 1);
        begin();
        add_frame(HEADERS, ENDS | PADDED, 1, "", 0);
        expect("no padding", "malformed padding", before, 1);
        begin();
        add_frame(HEADERS, ENDS | HAS_PRIORITY, 1, "1234", 4);
        expect("half a priority", "malformed padding", before, 1);
        begin();
        add_frame(HEADERS, END_STREAM, 1, block, 3);
        add_frame(CONTINUATION, END_HEADERS, 3, block + 3, sizeof block - 4);
        expect("another stream's continuation", "malformed continuation", before, 1);
        begin();
        add_frame(HEADERS, END_STREAM, 1, block, 3);
        add_frame(DATA, 0, 1, "x", 1);
        expect("an interruption", "malformed continuation", before, 1);
}

static void
H12_each_stream_is_judged(void **state)
{
        size_t first, second;

        begin();
        add_frame(HEADERS, END_HEADERS, 1,
                  BYTES(GET HTTP SLASH "\x41\6"
                                       "a.test"));
        add_frame(DATA, 0, 1, "hello", 5);
        first = wire.len;
        add_frame(HEADERS, ENDS, 3,
                  BYTES(GET HTTP SLASH "\xbe")); /* the same authority, from the dynamic table */
        add_frame(DATA, END_STREAM, 1, " world", 6);
        second = wire.len;
        add_frame(HEADERS, ENDS, 5,
                  BYTES(GET HTTP SLASH "\x41\4"
                                       "evil"));
        expect("three streams", "[1 GET a.test:0][3 GET a.test:0][5 GET evil:0]", second, 2);
        expect("the second refused", "[1 GET a.test:0][3 GET a.test:0]", first, 1);
        begin();
        add_frame(HEADERS, END_HEADERS, 1, BYTES(GET HTTP SLASH A_TEST));
        add_frame(DATA, 0, 1, "hello", 5);
        second = wire.len;
        add_frame(HEADERS, ENDS, 1, BYTES(FIELD("\1", "x", "\1", "y")));
        expect("trailers", "[1 GET a.test:0]", wire.len, 1);
        wire.len = second;
        add_frame(HEADERS, END_HEADERS, 1, BYTES(FIELD("\1", "x", "\1", "y")));
        expect("trailers without an end", "[1 GET a.test:0]malformed trailer", second, 1);
        wire.len = second;
        add_frame(HEADERS, ENDS, 1, BYTES(GET HTTP SLASH AUTHORITY("\4", "evil")));
        expect("a request as trailers", "[1 GET a.test:0]malformed pseudo", second, 1);
        wire.len = second;
        add_frame(HEADERS, ENDS, 1, BYTES(FIELD("\4", "host", "\4", "e\nil")));
        expect("bad trailers", "[1 GET a.test:0]malformed field", second, 1);
        wire.len = second;
        add_frame(HEADERS, ENDS, 1, BYTES(FIELD("\4", "host", "\4", "evil")));
        expect("another host in trailers", "[1 GET a.test:0]malformed trailer", second, 1);
        wire.len = second;
        add_frame(HEADERS, ENDS, 1, BYTES(FIELD("\x0e", "content-length", "\1", "1")));
        expect("a length in trailers", "[1 GET a.test:0]malformed trailer", second, 1);
}

static void
frames_keep_to_their_form(void **state)
{
        static const struct {
                unsigned type, flags;
                uint32_t stream;
                size_t len;
                const char *reason;
        } cases[] = {
                { DATA, 0, 1, 0, "" },
                { DATA, 0, 1, 20000, "" },
                { PRIORITY, 0, 7, 5, "" },
                { RST_STREAM, 0, 1, 4, "" },
                { SETTINGS, 0, 0, 6, "" },
                { SETTINGS, 1, 0, 0, "" },
                { PING, 1, 0, 8, "" },
                { GOAWAY, 0, 0, 8, "" },
                { GOAWAY, 0, 0, 100, "" },
                { WINDOW_UPDATE, 0, 0, 4, "" },
                { WINDOW_UPDATE, 0, 1, 4, "" },
                { 16, 0, 0, 10, "" },
                { DATA, 0, 0, 1, "malformed frame" },
                { DATA, 0, 3, 1, "malformed frame" },
                { DATA, 0, 2, 1, "malformed frame" },
                { DATA, 0, 0x80000001, 1, "malformed frame" },
                { HEADERS, ENDS, 2, 1, "malformed frame" },
                { HEADERS, ENDS, 0, 1, "malformed frame" },
                { PRIORITY, 0, 1, 4, "malformed frame" },
                { PRIORITY, 0, 0, 5, "malformed frame" },
                { RST_STREAM, 0, 0, 4, "malformed frame" },
                { SETTINGS, 0, 0, 5, "malformed frame" },
                { SETTINGS, 0, 1, 6, "malformed frame" },
                { SETTINGS, 1, 0, 6, "malformed frame" },
                { PUSH_PROMISE, 4, 1, 4, "malformed frame" },
                { PING, 0, 0, 7, "malformed frame" },
                { PING, 0, 1, 8, "malformed frame" },
                { GOAWAY, 0, 1, 8, "malformed frame" },
                { WINDOW_UPDATE, 0, 0, 3, "malformed frame" },
                { CONTINUATION, 4, 1, 1, "malformed frame" },
                { 10, 0, 0, 4, "malformed frame" },
                { 11, 0, 0, 0, "malformed frame" },
                { 255, 0, 0, 0, "malformed frame" },
                { SETTINGS, 0, 0, 18000, "malformed frame" },
                { GOAWAY, 0, 0, 17000, "malformed frame" },
        };
        static const char zeros[20000];

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char events[64], name[32];
                size_t before;

                begin();
                add_frame(HEADERS, END_HEADERS, 1, BYTES(GET HTTP SLASH A_TEST));
                before = wire.len;
                add_frame(cases[i].type, cases[i].flags, cases[i].stream, zeros, cases[i].len);
                (void)snprintf(events, sizeof events, "[1 GET a.test:0]%s", cases[i].reason);
                (void)snprintf(name, sizeof name, "case %zu", i);
                if (cases[i].len < 1000)
                        expect(name, events, cases[i].reason[0] ? before : wire.len, 1);
                assert_string_equal(carry(5000, 1).events, events);
        }
}

static void
connections_begin_properly(void **state)
{
        wire.len = 0;
        add("PRI * HTTP/2.0\r\n\r\nSN", 20);
        expect("another preface", "malformed preface", 0, 1);
        wire.len = 0;
        add(PREFACE, sizeof PREFACE - 1);
        add_frame(HEADERS, ENDS, 1, BYTES(GET HTTP SLASH A_TEST));
        expect("no settings", "malformed settings", sizeof PREFACE - 1, 1);
        wire.len = 0;
        add(PREFACE, sizeof PREFACE - 1);
        add_frame(SETTINGS, 1, 0, "", 0);
        expect("an acknowledgement first", "malformed settings", sizeof PREFACE - 1, 1);
}

/*
 * Blocks that are too long, too many frames, too many bytes after decompression: refused before
 * they cost memory or time.
 */
static void
blocks_are_bounded(void **state)
{
        static char big[HTTP2_FRAME_MAX + 1];
        size_t before, at = 0;

        begin();
        before = wire.len;
        add_frame(HEADERS, 0, 1, GET, 1);
        for (int i = 0; i < HTTP2_FRAMES_MAX; i++)
                add_frame(CONTINUATION, 0, 1, "", 0);
        assert_string_equal(carry(1, 1).events, "malformed ");
        assert_int_equal(carry(1, 1).passed, before);
        begin();
        add_frame(HEADERS, ENDS, 1, big, sizeof big);
        assert_string_equal(carry(100, 1).events, "malformed ");
        begin();
        for (int i = 0; i < 3; i++)
                add_frame(i == 0 ? HEADERS : CONTINUATION, 0, 1, big, HTTP2_FRAME_MAX);
        assert_string_equal(carry(100, 1).events, "malformed ");
        /* a bomb: one long entry, then references of one byte */
        memcpy(big, GET HTTP SLASH A_TEST "\x40\1x\x7f\xa1\x0f", 17);
        at = 17;
        memset(big + at, 'y', 2080);
        at += 2080;
        memset(big + at, '\xbe', 40);
        begin();
        add_frame(HEADERS, ENDS, 1, big, at + 20);
        assert_string_equal(carry(100, 1).events, "[1 GET a.test:0]");
        begin();
        add_frame(HEADERS, ENDS, 1, big, at + 40);
        assert_string_equal(carry(100, 1).events, "malformed ");
        memset(big, '\x84', sizeof big);
        memcpy(big, GET HTTP SLASH A_TEST, 11);
        at = 11;
        for (int i = 0; i < HTTP2_FIELDS_MAX; i++, at += 5)
                memcpy(big + at, FIELD("\1", "x", "\1", "y"), 5);
        begin();
        add_frame(HEADERS, ENDS, 1, big, at);
        assert_string_equal(carry(100, 1).events, "malformed ");
        begin();
        add_frame(HEADERS, ENDS, 1, big, at - 20);
        assert_string_equal(carry(100, 1).events, "[1 GET a.test:0]");
}

/*
 * The output of a real encoder is read correctly, while its table changes size as a server could
 * request.
 */
static void
an_encoder_is_followed(void **state)
{
        static const size_t sizes[] = { 4096, 0, 65536, 100, 16384 };
        nghttp2_hd_deflater *deflater;
        char want[1024] = "";

        assert_int_equal(nghttp2_hd_deflate_new(&deflater, HTTP2_TABLE_MAX), 0);
        begin();
        for (unsigned i = 0; i < 25; i++) {
                char authority[32], path[64];
                uint8_t out[1024];
                nghttp2_nv fields[] = {
                        { (uint8_t *)(uintptr_t) ":method", (uint8_t *)(uintptr_t) "GET", 7, 3, 0 },
                        { (uint8_t *)(uintptr_t) ":scheme", (uint8_t *)(uintptr_t) "http", 7, 4,
                          0 },
                        { (uint8_t *)(uintptr_t) ":authority", (uint8_t *)authority, 10, 0, 0 },
                        { (uint8_t *)(uintptr_t) ":path", (uint8_t *)path, 5, 0, 0 },
                        { (uint8_t *)(uintptr_t) "x-long",
                          (uint8_t *)(uintptr_t) "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                                 "aaaaaaa",
                          6, 56, 0 },
                };
                ssize_t len;

                fields[2].valuelen = (size_t)snprintf(authority, sizeof authority, "host%u.test:%u",
                                                      i % 3, 80 + i % 2);
                fields[3].valuelen = (size_t)snprintf(path, sizeof path, "/%u", i % 7);
                if (i % 5 == 0)
                        assert_int_equal(
                                nghttp2_hd_deflate_change_table_size(deflater, sizes[i / 5]), 0);
                len = nghttp2_hd_deflate_hd(deflater, out, sizeof out, fields, 5);
                assert_true(len > 0);
                add_frame(HEADERS, ENDS, 2 * i + 1, out, (size_t)len);
                (void)snprintf(want + strlen(want), sizeof want - strlen(want),
                               "[%u GET host%u.test:%u]", 2 * i + 1, i % 3, 80 + i % 2);
        }
        expect("an encoder", want, wire.len, 99);
        nghttp2_hd_deflate_del(deflater);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H12_heads_are_judged),
                cmocka_unit_test(blocks_come_in_any_shape),
                cmocka_unit_test(H12_each_stream_is_judged),
                cmocka_unit_test(frames_keep_to_their_form),
                cmocka_unit_test(connections_begin_properly),
                cmocka_unit_test(blocks_are_bounded),
                cmocka_unit_test(an_encoder_is_followed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
