/*
 * proto/hello_test.c - H13: the host that a TLS greeting names, however it is split; and what is
 * not a greeting.
 */
#include "proto/hello.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

#define BYTES(text) text, sizeof(text) - 1
#define SNI(len2, len1, len, name) "\0\0\0" len2 "\0" len1 "\0\0" len name
#define A_TEST SNI("\x0b", "\x09", "\x06", "a.test")
#define GREASE "\x1a\x1a\0\1\0"
#define ALPN "\0\x10\0\x0e\0\x0c\2h2\x08http/1.1"
#define ECH "\xfe\x0d\0\3\0\1\2"

struct wire {
        uint8_t bytes[HELLO_WIRE_MAX * 2];
        size_t len;
};

/* A handshake message in records of `piece` bytes. */
static void
wrap(struct wire *w, const uint8_t *message, size_t len, size_t piece)
{
        w->len = 0;
        for (size_t at = 0; at < len;) {
                size_t here = len - at < piece ? len - at : piece;
                uint8_t header[5] = { 22, 3, 1, (uint8_t)(here >> 8), (uint8_t)here };

                memcpy(w->bytes + w->len, header, 5);
                memcpy(w->bytes + w->len + 5, message + at, here);
                w->len += 5 + here;
                at += here;
        }
}

/*
 * A ClientHello with these extensions, after their total length. `body` replaces the part before
 * them.
 */
static size_t
build(uint8_t *message, const char *body, size_t body_len, const char *extensions, size_t len)
{
        size_t at = 4;

        memcpy(message + at, body, body_len);
        at += body_len;
        if (extensions) {
                message[at++] = (uint8_t)(len >> 8);
                message[at++] = (uint8_t)len;
                memcpy(message + at, extensions, len);
                at += len;
        }
        message[0] = 1;
        message[1] = 0;
        message[2] = (uint8_t)((at - 4) >> 8);
        message[3] = (uint8_t)(at - 4);
        return at;
}

#define RANDOM "0123456789abcdef0123456789abcdef"
#define BODY "\3\3" RANDOM "\x04sess\0\4\x13\x01\x1a\x1a\1\0"

/*
 * Reads in steps of `step` bytes, each from memory of exactly that size. Returns the verdict;
 * *ret_told: number of bytes that decided it.
 */
static enum hello_verdict
read_in_steps(struct hello *h, const uint8_t *bytes, size_t len, size_t step, size_t *ret_told)
{
        enum hello_verdict verdict = HELLO_MORE;

        hello_init(h);
        for (size_t there = step < len ? step : len;;
             there = there + step < len ? there + step : len) {
                uint8_t *exact = malloc(there);

                assert_non_null(exact);
                memcpy(exact, bytes, there);
                verdict = hello_read(h, exact, there);
                free(exact);
                *ret_told = there;
                if (verdict != HELLO_MORE || there == len)
                        return verdict;
        }
}

static void
H13_greetings_name_whom_they_ask_for(void **state) /* taste: its table is long */
{
        static const struct {
                const char *extensions;
                size_t len;
                enum hello_verdict verdict;
                const char *name;
                bool has_ech, has_alpn;
        } cases[] = {
                { BYTES(A_TEST), HELLO_TLS, "a.test", false, false },
                { BYTES(GREASE A_TEST ALPN ECH "\x2a\x2a\0\0"), HELLO_TLS, "a.test", true, true },
                { BYTES(ECH A_TEST), HELLO_TLS, "a.test", true, false },
                { BYTES(SNI("\x0b", "\x09", "\x06", "A.TesT")), HELLO_TLS, "A.TesT", false, false },
                { BYTES(""), HELLO_TLS, "", false, false },
                { NULL, 0, HELLO_TLS, "", false, false },
                { BYTES(GREASE ALPN), HELLO_TLS, "", false, true },
                /* names that are not valid */
                { BYTES(A_TEST A_TEST), HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\0\0\0"), HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\0\0\2\0\0"), HELLO_MALFORMED, NULL, false, false },
                { BYTES(SNI("\5", "\3", "\0", "")), HELLO_MALFORMED, NULL, false, false },
                { BYTES(SNI("\x0b", "\x09", "\x06", "a\0test")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES(SNI("\x0e", "\x0c", "\x09", "127.0.0.1")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES(SNI("\x08", "\6", "\3", "0x7")), HELLO_MALFORMED, NULL, false, false },
                { BYTES(SNI("\x08", "\6", "\3", "::1")), HELLO_MALFORMED, NULL, false, false },
                { BYTES(SNI("\x0c", "\x0a", "\x07", "a.test.")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES(SNI("\x0b", "\x09", "\x06", "a..est")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES(SNI("\x0b", "\x09", "\x06", ".atest")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES(SNI("\x0b", "\x09", "\x06", "a test")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES(SNI("\x0b", "\x09", "\x06", "*.test")), HELLO_MALFORMED, NULL, false,
                  false },
                { BYTES("\0\0\0\x0b\0\x09\1\0\6a.test"), HELLO_MALFORMED, NULL, false,
                  false }, /* an entry of another type */
                { BYTES("\0\0\0\x14\0\x12\0\0\6a.test\0\0\6b.test"), HELLO_MALFORMED, NULL, false,
                  false }, /* two in one list */
                { BYTES("\0\0\0\x0b\0\x08\0\0\6a.test"), HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\0\0\x0b\0\x0a\0\0\6a.test"), HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\0\0\x0b\0\x09\0\0\7a.test"), HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\0\0\x0c\0\x09\0\0\6a.test\0"), HELLO_MALFORMED, NULL, false, false },
                { BYTES("\0\0\0\x0b\0\x09\0\0\5a.test"), HELLO_MALFORMED, NULL, false, false },
                /* lists whose lengths do not add up */
                { BYTES(A_TEST "\0"), HELLO_MALFORMED, NULL, false, false },
                { BYTES(A_TEST "\x1a\x1a\0\2x"), HELLO_MALFORMED, NULL, false, false },
                { BYTES(A_TEST ALPN ALPN), HELLO_MALFORMED, NULL, false, false },
                { BYTES(A_TEST ECH ECH), HELLO_MALFORMED, NULL, false, false },
                { BYTES(A_TEST "\0\x10\0\2\0\0"), HELLO_MALFORMED, NULL, false, false },
                { BYTES(A_TEST "\0\x10\0\3\0\1\0"), HELLO_MALFORMED, NULL, false, false },
                { BYTES(A_TEST "\0\x10\0\5\0\3\3h2"), HELLO_MALFORMED, NULL, false, false },
        };
        static struct wire w;
        uint8_t message[1024];

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                size_t len = build(message, BYTES(BODY), cases[i].extensions, cases[i].len);

                for (size_t piece = 1; piece <= len; piece += piece < 9 ? 1 : 37) {
                        wrap(&w, message, len, piece);
                        for (size_t step = 1; step < 2 * w.len;
                             step = step < 7 ? step + 1 : step * 3) {
                                struct hello h;
                                size_t told;
                                enum hello_verdict verdict =
                                        read_in_steps(&h, w.bytes, w.len, step, &told);

                                if (verdict != cases[i].verdict ||
                                    (verdict == HELLO_TLS && (strcmp(h.name, cases[i].name) != 0 ||
                                                              h.has_ech != cases[i].has_ech ||
                                                              h.has_alpn != cases[i].has_alpn)))
                                        fail_msg("case %zu, records of %zu, steps of %zu: %d %s", i,
                                                 piece, step, verdict, h.name);
                                if (told < w.len && w.len - told >= step)
                                        fail_msg("case %zu: told after %zu of %zu bytes", i, told,
                                                 w.len);
                        }
                }
        }
}

static void
greetings_keep_to_their_form(void **state)
{
        static const struct {
                const char *body;
                size_t len;
                enum hello_verdict verdict;
        } cases[] = {
                { BYTES("\3\1" RANDOM "\0\0\2\x13\x01\1\0"), HELLO_TLS },
                { BYTES("\2\0" RANDOM "\0\0\2\x13\x01\1\0"), HELLO_MALFORMED },
                { BYTES("\3\3" RANDOM "\x21" RANDOM "x\0\2\x13\x01\1\0"), HELLO_MALFORMED },
                { BYTES("\3\3" RANDOM "\0\0\0\1\0"), HELLO_MALFORMED },
                { BYTES("\3\3" RANDOM "\0\0\3\x13\x01\x13\1\0"), HELLO_MALFORMED },
                { BYTES("\3\3" RANDOM "\0\0\2\x13\x01\0"), HELLO_MALFORMED },
                { BYTES("\3\3" RANDOM "\0\xff\xff"), HELLO_MALFORMED },
                { BYTES("\3\3" RANDOM), HELLO_MALFORMED },
                { BYTES("\3"), HELLO_MALFORMED },
                { BYTES(""), HELLO_MALFORMED },
        };
        static struct wire w;
        uint8_t message[1024];

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct hello h;
                size_t told;

                wrap(&w, message, build(message, cases[i].body, cases[i].len, NULL, 0), 1000);
                if (read_in_steps(&h, w.bytes, w.len, 1, &told) != cases[i].verdict)
                        fail_msg("case %zu", i);
        }
}

static void
H13_what_is_not_a_greeting(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                enum hello_verdict verdict;
        } cases[] = {
                { BYTES(""), HELLO_MORE },
                { BYTES("\x16"), HELLO_MORE },
                { BYTES("\x16\3\1\0"), HELLO_MORE },
                { BYTES("\x16\3\1\0\5\1\0"), HELLO_MORE },
                { BYTES("GET / HTTP/1.1\r\n"), HELLO_NOT_TLS },
                { BYTES("\x80\x2e\1\0\2\0\x15"), HELLO_NOT_TLS },
                { BYTES("\x16\2"), HELLO_NOT_TLS },
                { BYTES("\x15\3\1\0\2\2\x28"), HELLO_NOT_TLS },
                { BYTES("\x16\3\5"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\0"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\x40\1"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\5\2"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\4\1\0\x40\0"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\1\1\x17"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\1\1\x16\2"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\1\1\x14\3\3\0\1\1"), HELLO_MALFORMED },
                { BYTES("\x16\3\1\0\6\1\0\0\1\3\3"), HELLO_MALFORMED },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                for (size_t step = 1; step <= cases[i].len + 1; step++) {
                        struct hello h;
                        size_t told;

                        if (read_in_steps(&h, (const uint8_t *)cases[i].bytes, cases[i].len, step,
                                          &told) != cases[i].verdict)
                                fail_msg("case %zu in steps of %zu", i, step);
                }
        }
}

static void
what_follows_is_not_read(void **state)
{
        static struct wire w;
        uint8_t message[1024];
        struct hello h;

        wrap(&w, message, build(message, BYTES(BODY), BYTES(A_TEST)), 20);
        memcpy(w.bytes + w.len, "\x14\3\3\0\1\1\xff\xff", 8);
        hello_init(&h);
        assert_int_equal(hello_read(&h, w.bytes, w.len + 8), HELLO_TLS);
        assert_int_equal(hello_read(&h, w.bytes, w.len + 8), HELLO_TLS);
        assert_string_equal(h.name, "a.test");
}

/*
 * The longest greeting is accepted, also in very small records as long as it fits. With one byte
 * more, the reader does not wait.
 */
static void
greetings_are_bounded(void **state)
{
        static struct wire w;
        static uint8_t message[HELLO_MAX + 64];
        static char extensions[HELLO_MAX];
        struct hello h;
        size_t told, room = HELLO_MAX - 4 - (sizeof BODY - 1) - 2, at;

        memset(extensions, 0, sizeof extensions);
        memcpy(extensions, A_TEST, sizeof A_TEST - 1);
        at = sizeof A_TEST - 1;
        extensions[at] = extensions[at + 1] = 0x2a;
        extensions[at + 2] = (char)((room - at - 4) >> 8);
        extensions[at + 3] = (char)(room - at - 4);
        at = build(message, BYTES(BODY), extensions, room);
        assert_int_equal(at, HELLO_MAX);
        wrap(&w, message, at, 6);
        assert_true(w.len <= HELLO_WIRE_MAX);
        assert_int_equal(read_in_steps(&h, w.bytes, w.len, 1000, &told), HELLO_TLS);
        wrap(&w, message, at, 1);
        assert_int_equal(read_in_steps(&h, w.bytes, w.len, 1000, &told), HELLO_MALFORMED);
        assert_true(told <= HELLO_WIRE_MAX + 1000);
        message[3]++;
        wrap(&w, message, at, 1000);
        assert_int_equal(read_in_steps(&h, w.bytes, w.len, 1, &told), HELLO_MALFORMED);
        assert_true(told <= 1005);
}

static void
offers_are_found(void **state)
{
        static struct wire w;
        uint8_t message[1024];
        struct hello h;

        wrap(&w, message, build(message, BYTES(BODY), BYTES(A_TEST ALPN)), 3);
        hello_init(&h);
        assert_false(hello_offers(&h, "h2"));
        assert_int_equal(hello_read(&h, w.bytes, w.len), HELLO_TLS);
        assert_true(hello_offers(&h, "h2") && hello_offers(&h, "http/1.1"));
        assert_false(hello_offers(&h, "h") || hello_offers(&h, "h3") || hello_offers(&h, "") ||
                     hello_offers(&h, "http/1.11"));
}

#define AGAIN                                                                                      \
        "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb" \
        "\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

static void
H13_a_server_may_ask_for_a_second_greeting(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                int retry;
        } cases[] = {
                { BYTES(""), -1 },
                { BYTES("\x16\3\3\0\x58"), -1 },
                { BYTES("\x16\3\3\0\x58\2\0\0\x54\3\3"), -1 },
                { BYTES("\x16\3\3\0\x58\2\0\0\x54\3\3" AGAIN), 1 },
                { BYTES("\x16\3\3\0\x58\2\0\0\x54\3\3" RANDOM), 0 },
                { BYTES("\x15\3\3\0\2\2\x28"), 0 },
                { BYTES("!"), 0 },
                { BYTES("\x16\3\3\0\x07\2\0\0\x54\3\3\xcf"), 1 },
                { BYTES("\x16\3\3\0\4\0\0\0\0"), 1 }, /* unknown: treated as if it did */
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                uint8_t *exact = malloc(cases[i].len > 0 ? cases[i].len : 1);

                assert_non_null(exact);
                memcpy(exact, cases[i].bytes, cases[i].len);
                if (hello_retry(exact, cases[i].len) != cases[i].retry)
                        fail_msg("case %zu", i);
                free(exact);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H13_greetings_name_whom_they_ask_for),
                cmocka_unit_test(greetings_keep_to_their_form),
                cmocka_unit_test(H13_what_is_not_a_greeting),
                cmocka_unit_test(what_follows_is_not_read),
                cmocka_unit_test(greetings_are_bounded),
                cmocka_unit_test(offers_are_found),
                cmocka_unit_test(H13_a_server_may_ask_for_a_second_greeting),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
