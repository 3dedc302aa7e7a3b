/*
 * proto/dns_test.c - which questions get an answer, which code the others get, and what an answer
 * contains.
 */
#include "proto/dns.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

#define HEADER(flags, counts) "\x12\x34" flags counts
#define ONE "\0\1\0\0\0\0\0\0"
#define ONE_AND_MORE "\0\1\0\0\0\0\0\1"
#define NAME "\3ApI\7example\0"
#define IN_A "\0\1\0\1"
#define OPT(size, options) "\0\0\x29" size "\0\0\0\0" options
#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1
#define LABEL63 \
        "\x3f"  \
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* H20: a packet that is not a valid question gets an error code, or no answer. */
static void
H20_only_plain_questions_are_asked(void **state) /* taste: its table is long */
{
        static const struct {
                const uint8_t *bytes;
                size_t len;
                enum dns_verdict verdict;
                enum dns_rcode rcode;
                const char *name;
                uint16_t type, udp_size;
        } cases[] = {
                { BYTES(HEADER("\1\0", ONE) NAME IN_A), DNS_ASKED, DNS_NOERROR, "ApI.example",
                  DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\x41\0\1"), DNS_ASKED, DNS_NOERROR,
                  "ApI.example", DNS_HTTPS, 512 },
                { BYTES(HEADER("\1\0", ONE) "\0"
                                            "\0\2\0\1"),
                  DNS_ASKED, DNS_NOERROR, "", DNS_NS, 512 },
                { BYTES(HEADER("\1\x20", ONE) "\6_a-b_9\0" IN_A), DNS_ASKED, DNS_NOERROR, "_a-b_9",
                  DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\4\xd0", "\0\0")), DNS_ASKED,
                  DNS_NOERROR, "ApI.example", DNS_A, 1232 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\xff\xff", "\0\0")), DNS_ASKED,
                  DNS_NOERROR, "ApI.example", DNS_A, 1232 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\0\0", "\0\0")), DNS_ASKED,
                  DNS_NOERROR, "ApI.example", DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\2\x58", "\0\6\0\x0a\0\2ab")),
                  DNS_ASKED, DNS_NOERROR, "ApI.example", DNS_A, 600 },
                { BYTES(HEADER("\1\0", ONE) LABEL63 LABEL63 LABEL63
                        "\x3d"
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        "\0" IN_A),
                  DNS_ASKED, DNS_NOERROR, NULL, DNS_A, 512 },
                /* bytes that a host name cannot contain */
                { BYTES(HEADER("\1\0", ONE) "\3a.b\0" IN_A), DNS_NOT_A_NAME, DNS_NXDOMAIN, "",
                  DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE) "\3a\0b\0" IN_A), DNS_NOT_A_NAME, DNS_NXDOMAIN, "",
                  DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE) "\1*\7example\0" IN_A), DNS_NOT_A_NAME, DNS_NXDOMAIN,
                  "", DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE) "\4\xc3\xa4\xc3\xb6\0" IN_A), DNS_NOT_A_NAME,
                  DNS_NXDOMAIN, "", DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE) "\3a b\0" IN_A), DNS_NOT_A_NAME, DNS_NXDOMAIN, "",
                  DNS_A, 512 },
                { BYTES(HEADER("\1\0", ONE) "\5a@b/c\0" IN_A), DNS_NOT_A_NAME, DNS_NXDOMAIN, "",
                  DNS_A, 512 },
                /* no answer */
                { BYTES(""), DNS_DROPPED, DNS_FORMERR, NULL, 0, 0 },
                { BYTES("\x12\x34\1\0\0\1\0\0\0\0\0"), DNS_DROPPED, DNS_FORMERR, NULL, 0, 0 },
                { BYTES(HEADER("\x81\x80", ONE) NAME IN_A), DNS_DROPPED, DNS_FORMERR, NULL, 0, 0 },
                /* not a question */
                { BYTES(HEADER("\x29\0", ONE) NAME IN_A), DNS_FAULTY, DNS_NOTIMP, NULL, 0, 512 },
                { BYTES(HEADER("\x11\0", ONE) NAME IN_A), DNS_FAULTY, DNS_NOTIMP, NULL, 0, 512 },
                { BYTES(HEADER("\3\0", ONE) NAME IN_A), DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", "\0\0\0\0\0\0\0\0")), DNS_FAULTY, DNS_FORMERR, NULL, 0,
                  512 },
                { BYTES(HEADER("\1\0", "\0\2\0\0\0\0\0\0") NAME IN_A NAME IN_A), DNS_FAULTY,
                  DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", "\0\1\0\1\0\0\0\0") NAME IN_A), DNS_FAULTY, DNS_FORMERR,
                  NULL, 0, 512 },
                { BYTES(HEADER("\1\0", "\0\1\0\0\0\1\0\0") NAME IN_A), DNS_FAULTY, DNS_FORMERR,
                  NULL, 0, 512 },
                { BYTES(HEADER("\1\0", "\0\1\0\0\0\0\0\2") NAME IN_A OPT("\4\xd0", "\0\0")
                                OPT("\4\xd0", "\0\0")),
                  DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                /* names and their surroundings */
                { BYTES(HEADER("\1\0", ONE)), DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) "\3ap"), DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) "\xc0\x0c" IN_A), DNS_FAULTY, DNS_FORMERR, NULL, 0,
                  512 },
                { BYTES(HEADER("\1\0", ONE) "\1a\xc0\x0c" IN_A), DNS_FAULTY, DNS_FORMERR, NULL, 0,
                  512 },
                { BYTES(HEADER("\1\0", ONE) "\3api\x40"), DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) "\x40" LABEL63 "\0" IN_A), DNS_FAULTY, DNS_FORMERR,
                  NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) LABEL63 LABEL63 LABEL63
                        "\x3e"
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                        "\0" IN_A),
                  DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) LABEL63 LABEL63 LABEL63 LABEL63 LABEL63 "\0" IN_A),
                  DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\1\0"), DNS_FAULTY, DNS_FORMERR, NULL, 0, 512 },
                { BYTES(HEADER("\1\0", ONE) NAME IN_A "x"), DNS_FAULTY, DNS_FORMERR, NULL, 1, 512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\1\0\3"), DNS_FAULTY, DNS_NOTIMP, NULL, 1,
                  512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\1\0\xff"), DNS_FAULTY, DNS_NOTIMP, NULL, 1,
                  512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\xfc\0\1"), DNS_FAULTY, DNS_NOTIMP, NULL, 252,
                  512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\0\0\1"), DNS_FAULTY, DNS_FORMERR, NULL, 0,
                  512 },
                { BYTES(HEADER("\1\0", ONE) NAME "\0\x29\0\1"), DNS_FAULTY, DNS_FORMERR, NULL, 41,
                  512 },
                /* EDNS */
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A), DNS_FAULTY, DNS_FORMERR, NULL, 1,
                  512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A "\0\0\1\0\1\0\0\0\0\0\0"),
                  DNS_FAULTY, DNS_FORMERR, NULL, 1, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A "\1a\0\0\x29\4\xd0\0\0\0\0\0\0"),
                  DNS_FAULTY, DNS_FORMERR, NULL, 1, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A "\0\0\x29\4\xd0\0\1\0\0\0\0"),
                  DNS_FAULTY, DNS_BADVERS, NULL, 1, 1232 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\4\xd0", "\0\1")), DNS_FAULTY,
                  DNS_FORMERR, NULL, 1, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\4\xd0", "\0\5\0\x0a\0\2a")),
                  DNS_FAULTY, DNS_FORMERR, NULL, 1, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\4\xd0", "\0\3\0\x0a\0")),
                  DNS_FAULTY, DNS_FORMERR, NULL, 1, 512 },
                { BYTES(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\4\xd0", "\0\0") "x"),
                  DNS_FAULTY, DNS_FORMERR, NULL, 1, 512 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                /* exact size: a sanitizer reports a read of one byte too many */
                uint8_t *exact = malloc(cases[i].len + 1);
                struct dns_query q;
                enum dns_rcode rcode;
                enum dns_verdict verdict;

                assert_non_null(exact);
                memcpy(exact, cases[i].bytes, cases[i].len);
                exact = realloc(exact, cases[i].len > 0 ? cases[i].len : 1);
                assert_non_null(exact);
                verdict = dns_query_read(exact, cases[i].len, &q, &rcode);
                free(exact);
                if (verdict != cases[i].verdict || rcode != cases[i].rcode ||
                    (verdict != DNS_DROPPED &&
                     (q.type != cases[i].type || q.udp_size != cases[i].udp_size)))
                        fail_msg("case %zu: verdict %d, code %d, type %u, %u bytes", i, verdict,
                                 rcode, q.type, q.udp_size);
                if (verdict != DNS_ASKED && verdict != DNS_DROPPED && q.question_len == 0 &&
                    q.name[0] != '\0')
                        fail_msg("case %zu: %s is left of a name", i, q.name);
                if (cases[i].name && strcmp(q.name, cases[i].name) != 0)
                        fail_msg("case %zu: name %s", i, q.name);
        }
}

static struct dns_query
asked(const char *text, size_t len)
{
        struct dns_query q;
        enum dns_rcode rcode;

        (void)dns_query_read((const uint8_t *)text, len, &q, &rcode);
        return q;
}
#define ASKED(text) asked(text, sizeof(text) - 1)

static void
answers_are_these_bytes(void **state)
{
        static const uint8_t four[] = { 198, 18, 1, 0 }, six[16] = { 0xfd, 0x63, [15] = 1 };
        static const char soa[] = "\0\0\6\0\1\0\0\0\x3c\0\x32\4gate\7invalid\0\6nobody\7invalid\0\0"
                                  "\0\0\1\0\0\x0e\x10\0\0\2\x58\0\1\x51\x80\0\0\0\x3c";
        const struct {
                struct dns_query q;
                struct dns_answer a;
                const char *header, *behind;
                size_t behind_len;
        } cases[] = {
                { ASKED(HEADER("\1\0", ONE) NAME IN_A),
                  { .address = four, .address_len = 4, .ttl_s = 60 },
                  "\x12\x34\x81\x80\0\1\0\1\0\0\0\0",
                  "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\1\0",
                  16 },
                { ASKED(HEADER("\1\x10", ONE_AND_MORE) NAME "\0\x1c\0\1" OPT("\4\xd0", "\0\0")),
                  { .address = six, .address_len = 16, .ttl_s = 60 },
                  "\x12\x34\x81\x90\0\1\0\1\0\0\0\1",
                  "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\x63\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\x29\4"
                  "\xd0\0\0\0\0\0\0",
                  39 },
                { ASKED(HEADER("\0\0", ONE) NAME "\0\x41\0\1"),
                  { .ttl_s = 60 },
                  "\x12\x34\x80\x80\0\1\0\0\0\1\0\0",
                  soa,
                  sizeof soa - 1 },
                { ASKED(HEADER("\0\0", ONE) NAME "\0\x41\0\1"),
                  { .address = four, .address_len = 4, .ttl_s = 60 },
                  "\x12\x34\x80\x80\0\1\0\0\0\1\0\0",
                  soa,
                  sizeof soa - 1 },
                { ASKED(HEADER("\1\0", ONE) NAME IN_A),
                  { .rcode = DNS_NXDOMAIN, .ttl_s = 60, .reason = DNS_REASON_BLOCKED },
                  "\x12\x34\x81\x83\0\1\0\0\0\1\0\0",
                  soa,
                  sizeof soa - 1 },
                { ASKED(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\4\xd0", "\0\0")),
                  { .rcode = DNS_REFUSED, .reason = DNS_REASON_PROHIBITED, .reason_text = "no" },
                  "\x12\x34\x81\x85\0\1\0\0\0\0\0\1",
                  "\0\0\x29\4\xd0\0\0\0\0\0\x08\0\x0f\0\4\0\x12no",
                  19 },
                { ASKED(HEADER("\1\0", ONE_AND_MORE) NAME IN_A "\0\0\x29\4\xd0\0\1\0\0\0\0"),
                  { .rcode = DNS_BADVERS },
                  "\x12\x34\x81\x80\0\1\0\0\0\0\0\1",
                  "\0\0\x29\4\xd0\1\0\0\0\0\0",
                  11 },
                { ASKED(HEADER("\1\0", "\0\2\0\0\0\0\0\0") NAME IN_A),
                  { .rcode = DNS_FORMERR },
                  "\x12\x34\x81\x81\0\0\0\0\0\0\0\0",
                  "",
                  0 },
                { ASKED(HEADER("\x29\0", ONE) NAME IN_A),
                  { .rcode = DNS_NOTIMP },
                  "\x12\x34\xa9\x84\0\0\0\0\0\0\0\0",
                  "",
                  0 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                uint8_t out[DNS_ANSWER_MAX];
                size_t len = dns_answer_write(&cases[i].q, &cases[i].a, true, out, sizeof out),
                       question = cases[i].q.question_len;

                if (len != 12 + question + cases[i].behind_len ||
                    memcmp(out, cases[i].header, 12) != 0 ||
                    memcmp(out + 12, cases[i].q.question, question) != 0 ||
                    memcmp(out + 12 + question, cases[i].behind, cases[i].behind_len) != 0)
                        fail_msg("case %zu: %zu bytes", i, len);
                assert_int_equal(
                        dns_answer_write(&cases[i].q, &cases[i].a, true, out, sizeof out - 1), 0);
        }
}

/* The sentence is cut at the end of a character. The record with the answer is kept. */
static void
a_sentence_gives_way(void **state)
{
        struct dns_query q = ASKED(HEADER("\1\0", ONE_AND_MORE) NAME IN_A OPT("\2\0", "\0\0"));
        char text[2001];
        uint8_t out[DNS_ANSWER_MAX];
        size_t udp, tcp;

        for (size_t i = 0; i < 2000; i += 2)
                memcpy(text + i, "\xc3\xa4", 2);
        text[2000] = '\0';
        for (int shift = 0; shift < 2; shift++) {
                struct dns_answer a = { .rcode = DNS_NXDOMAIN,
                                        .ttl_s = 60,
                                        .reason = DNS_REASON_BLOCKED,
                                        .reason_text = text + 2 * shift };

                text[0] = 'x';
                text[1] = 'x';
                udp = dns_answer_write(&q, &a, true, out, sizeof out);
                assert_in_range(udp, DNS_UDP_MIN - 1, DNS_UDP_MIN);
                assert_true((out[2] & 2) == 0 && out[udp - 2] == 0xc3 && out[udp - 1] == 0xa4);
                tcp = dns_answer_write(&q, &a, false, out, sizeof out);
                assert_in_range(tcp, DNS_ANSWER_MAX - 1, DNS_ANSWER_MAX);
        }
}

static void
what_does_not_fit_is_truncated(void **state)
{
        static const uint8_t six[16] = { 1 };
        struct dns_query q = ASKED(HEADER("\1\0", ONE) NAME "\0\x1c\0\1");
        struct dns_answer a = { .address = six, .address_len = 16, .ttl_s = 60 };
        uint8_t out[DNS_ANSWER_MAX];

        q.udp_size = 50; /* no client can offer so little; this covers the path */
        assert_int_equal(dns_answer_write(&q, &a, true, out, sizeof out), 12 + q.question_len);
        assert_memory_equal(out, "\x12\x34\x83\x80\0\1\0\0\0\0\0\0", 12);
        assert_int_equal(dns_answer_write(&q, &a, false, out, sizeof out),
                         12 + q.question_len + 28);
}

static void
names_are_the_same_as_bytes_and_text(void **state)
{
        static const struct {
                const char *text;
                size_t len;
                const char *again;
        } cases[] = {
                { "", 1, "" },
                { ".", 0, NULL },
                { "a", 3, "a" },
                { "a.", 3, "a" },
                { "A.b-c", 7, "A.b-c" },
                { "a..b", 0, NULL },
                { ".a", 0, NULL },
                { "a..", 0, NULL },
                { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, NULL },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                uint8_t bytes[DNS_WIRE_NAME_MAX];
                char text[DNS_NAME_MAX + 1];
                size_t len = dns_name_write(cases[i].text, bytes), at = 0;

                if (len != cases[i].len)
                        fail_msg("%s: %zu bytes", cases[i].text, len);
                if (len > 0 && (dns_name_read(bytes, len, &at, text) != 0 || at != len ||
                                strcmp(text, cases[i].again) != 0))
                        fail_msg("%s: read as %s", cases[i].text, text);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H20_only_plain_questions_are_asked),
                cmocka_unit_test(answers_are_these_bytes),
                cmocka_unit_test(a_sentence_gives_way),
                cmocka_unit_test(what_does_not_fit_is_truncated),
                cmocka_unit_test(names_are_the_same_as_bytes_and_text),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
