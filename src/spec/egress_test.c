/* spec/egress_test.c - which texts are hosts, and which hosts may be reached. */
#include "spec/egress.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"

#define L63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define H253                    \
        L63 "." L63 "." L63 "." \
            "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg"

static void
expect_same_again(struct arena *arena, const struct spec_egress *entry)
{
        char text[EGRESS_TEXT_ROOM];
        struct spec_egress again = { 0 };
        struct error e;

        assert_int_equal(egress_read(arena, egress_text(entry, text), &again, &e), 0);
        assert_true(egress_covers(entry, &again) && egress_covers(&again, entry));
}

static void
good_entries_have_one_form(void **state)
{
        static const struct {
                const char *text, *host;
                bool is_wildcard;
                unsigned port;
        } cases[] = {
                { "api.openai.com", "api.openai.com", false, 0 },
                { "PyPI.org.", "pypi.org", false, 0 },
                { "github.com:22", "github.com", false, 22 },
                { "github.com.:65535", "github.com", false, 65535 },
                { "*.Anthropic.COM", "anthropic.com", true, 0 },
                { "*.anthropic.com:8443", "anthropic.com", true, 8443 },
                { "*.co.uk", "co.uk", true, 0 },
                { "localhost", "localhost", false, 0 },
                { "_dmarc.example_x.com", "_dmarc.example_x.com", false, 0 },
                { "xn--bcher-kva.example", "xn--bcher-kva.example", false, 0 },
                { "3com.com", "3com.com", false, 0 },
                { "1.2.3.4.example", "1.2.3.4.example", false, 0 },
                { "0x7f.example", "0x7f.example", false, 0 },
                { "deadbeef", "deadbeef", false, 0 },
                { L63 ".test", L63 ".test", false, 0 },
                { H253, H253, false, 0 },
                { H253 ".", H253, false, 0 },
        };
        struct arena arena;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct spec_egress entry = { 0 };
                struct error e;

                if (egress_read(&arena, cases[i].text, &entry, &e) < 0)
                        fail_msg("%s: %s", cases[i].text, e.message);
                assert_string_equal(entry.host, cases[i].host);
                assert_int_equal(entry.is_wildcard, cases[i].is_wildcard);
                assert_int_equal(entry.port_count, cases[i].port ? 1 : 2);
                assert_int_equal(entry.ports[0], cases[i].port ? cases[i].port : 80);
                if (!cases[i].port)
                        assert_int_equal(entry.ports[1], 443);
                expect_same_again(&arena, &entry);
        }
        arena_fini(&arena);
}

static void
bad_entries_have_a_reason(void **state) /* taste: its table is long */
{
        static const struct {
                const char *text, *reason;
        } cases[] = {
                { "*", "wildcard" },
                { "*.", "wildcard" },
                { "*.com", "wildcard" },
                { "*.co", "wildcard" },
                { "*.com.", "wildcard" },
                { "*.com:443", "wildcard" },
                { "*.*.com", "wildcard" },
                { "api.*.com", "wildcard" },
                { "*api.com", "wildcard" },
                { "api.com*", "wildcard" },
                { "*:80", "wildcard" },
                { "**.a.com", "wildcard" },
                { "https://api.openai.com/v1", "url_or_cidr" },
                { "10.0.0.0/8", "url_or_cidr" },
                { "a.com/", "url_or_cidr" },
                { "user@a.com", "url_or_cidr" },
                { "user:pw@a.com", "url_or_cidr" },
                { "a.com?x", "url_or_cidr" },
                { "fe80::/10", "url_or_cidr" },
                { "a.com#x", "url_or_cidr" },
                { "127.0.0.1", "ip_literal" },
                { "127.0.0.1.", "ip_literal" },
                { "2130706433", "ip_literal" },
                { "0x7f.1", "ip_literal" },
                { "0177.0.0.1", "ip_literal" },
                { "127.1", "ip_literal" },
                { "0", "ip_literal" },
                { "0x7f000001", "ip_literal" },
                { "0X7F000001", "ip_literal" },
                { "10.0.0.1:80", "ip_literal" },
                { "[::1]", "ip_literal" },
                { "[::1]:443", "ip_literal" },
                { "::1", "ip_literal" },
                { "::", "ip_literal" },
                { "fe80::1%eth0", "ip_literal" },
                { "::ffff:7f00:1", "ip_literal" },
                { "::ffff:127.0.0.1", "ip_literal" },
                { "*.10.0.0.1", "ip_literal" },
                { "1.2.3.4.5", "ip_literal" },
                { "", "hostname" },
                { ".", "hostname" },
                { "a..com", "hostname" },
                { ".a.com", "hostname" },
                { "a.com..", "hostname" },
                { "-a.com", "hostname" },
                { "a-.com", "hostname" },
                { "a.-", "hostname" },
                { L63 "x.test", "hostname" },
                { H253 "x", "hostname" },
                { "a.123", "hostname" },
                { "a.0x7f", "hostname" },
                { ":80", "hostname" },
                { "*.a..com", "hostname" },
                { "a.com:0", "port" },
                { "a.com:65536", "port" },
                { "a.com:", "port" },
                { "a.com:http", "port" },
                { "a.com:080", "port" },
                { "a.com:-1", "port" },
                { "a.com:+1", "port" },
                { "a.com:80:90", "port" },
                { "a.com:123456", "port" },
                { "b\xc3\xbc"
                  "cher.example",
                  "charset" },
                { "a\x01.com", "charset" },
                { "a\x7f.com", "charset" },
                { "a%2e.com", "charset" },
                { "a\\b.com", "charset" },
                { "a,b.com", "charset" },
                { "a.com\xe3\x80\x82", "charset" },
                { "a .com", "whitespace" },
                { " a.com", "whitespace" },
                { "a.com\n", "whitespace" },
                { "a.com\tb.com", "whitespace" },
        };
        struct arena arena;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct spec_egress entry;
                struct error e = { 0 };

                if (egress_read(&arena, cases[i].text, &entry, &e) == 0 ||
                    strcmp(e.reason, cases[i].reason) != 0)
                        fail_msg("\"%s\" gave \"%s\", expected \"%s\"", cases[i].text, e.reason,
                                 cases[i].reason);
                assert_int_equal(e.code, ERROR_EGRESS_INVALID);
                assert_string_not_equal(e.hint, "");
        }
        arena_fini(&arena);
}

static void
only_what_is_listed_is_allowed(void **state)
{
        static const struct {
                const char *entry, *host;
                uint16_t port;
                bool is_allowed;
        } cases[] = {
                { "*.anthropic.com", "a.b.anthropic.com", 443, true },
                { "*.anthropic.com", "a.anthropic.com", 0, true },
                { "*.anthropic.com", "anthropic.com", 443, false },
                { "*.anthropic.com", "evilanthropic.com", 443, false },
                { "*.anthropic.com", ".anthropic.com", 443, false },
                { "*.anthropic.com", "x.anthropic.com.evil.test", 443, false },
                { "openai.com", "api.openai.com", 443, false },
                { "api.openai.com", "API.OpenAI.com.", 443, true },
                { "api.openai.com", "api.openai.com", 80, true },
                { "api.openai.com", "api.openai.com", 8443, false },
                { "api.openai.com", "api.openai.com..", 443, false },
                { "api.openai.com:22", "api.openai.com", 22, true },
                { "api.openai.com:22", "api.openai.com", 443, false },
                { "api.openai.com", "", 443, false },
                { "api.openai.com", "*.openai.com", 443, false },
                { "api.openai.com", "api.openai.com ", 443, false },
                { "*.0.0.example", "1.0.0.example", 80, true },
                { "*.a.example", "127.0.0.1", 80, false },
        };
        struct arena arena;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct spec_egress entry;
                struct error e;

                assert_int_equal(egress_read(&arena, cases[i].entry, &entry, &e), 0);
                if (egress_allows(&entry, 1, cases[i].host, cases[i].port) != cases[i].is_allowed)
                        fail_msg("%s for %s:%u", cases[i].entry, cases[i].host, cases[i].port);
                assert_false(egress_allows(&entry, 0, cases[i].host, cases[i].port));
                assert_false(egress_allows(&entry, 1, NULL, 0));
        }
        arena_fini(&arena);
}

static void
covers_never_widens(void **state)
{
        static const struct {
                const char *outer, *inner;
                bool is_covered;
        } cases[] = {
                { "*.openai.com", "api.openai.com", true },
                { "*.openai.com", "*.openai.com", true },
                { "*.openai.com", "*.api.openai.com", true },
                { "*.openai.com", "openai.com", false },
                { "*.api.openai.com", "*.openai.com", false },
                { "api.openai.com", "*.openai.com", false },
                { "openai.com", "*.openai.com", false },
                { "api.openai.com", "api.openai.com", true },
                { "api.openai.com", "api.openai.com:443", true },
                { "api.openai.com:443", "api.openai.com", false },
                { "api.openai.com", "api.openai.com:22", false },
                { "*.openai.com", "evilopenai.com", false },
                { "*.openai.com", "api.stripe.com", false },
        };
        struct arena arena;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct spec_egress outer, inner;
                struct error e;

                assert_int_equal(egress_read(&arena, cases[i].outer, &outer, &e), 0);
                assert_int_equal(egress_read(&arena, cases[i].inner, &inner, &e), 0);
                if (egress_covers(&outer, &inner) != cases[i].is_covered)
                        fail_msg("%s over %s", cases[i].outer, cases[i].inner);
        }
        arena_fini(&arena);
}

static void
a_private_name_without_a_port_is_any_port(void **state)
{
        struct spec_egress any = { 0 }, one = { 0 }, web = { 0 }, again = { 0 };
        char text[EGRESS_TEXT_ROOM];
        struct arena arena;
        struct error e;

        (void)state;
        arena_init(&arena, 1 << 20);
        assert_int_equal(egress_private_read(&arena, "db.internal", &any, &e), 0);
        assert_int_equal(egress_private_read(&arena, "db.internal:5432", &one, &e), 0);
        assert_int_equal(egress_read(&arena, "db.internal", &web, &e), 0);
        assert_true(egress_covers(&any, &one) && egress_covers(&any, &web) &&
                    egress_has_port(&any, 1));
        assert_false(egress_covers(&one, &web) || egress_has_port(&one, 5433));
        assert_int_equal(egress_private_read(&arena, egress_text(&any, text), &again, &e), 0);
        assert_int_equal(again.port_count, 0);
        arena_fini(&arena);
}

static void
the_host_itself_is_no_entry(void **state)
{
        static const char *const refused[] = {
                "host.carrel.internal:5432", "host.carrel.internal", "HOST.Carrel.internal.:80",
                "*.carrel.internal",         "carrel.internal",      "a.host.carrel.internal:1"
        };
        static const char *const not_permitted[] = {
                "host.carrel.internal", "host.carrel.internal:0", "host.carrel.internal:65536",
                "host.carrel.internal:5432x", "x.host.carrel.internal:1"
        };
        struct spec_egress entry = { 0 };
        char text[EGRESS_TEXT_ROOM];
        struct arena arena;
        struct error e;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
                if (egress_read(&arena, refused[i], &entry, &e) == 0 ||
                    egress_private_read(&arena, refused[i], &entry, &e) == 0)
                        fail_msg("%s is an entry", refused[i]);
                assert_string_equal(e.reason, "reserved");
        }
        for (size_t i = 0; i < sizeof not_permitted / sizeof *not_permitted; i++)
                if (egress_permitted_read(&arena, not_permitted[i], &entry, &e) == 0)
                        fail_msg("%s is permitted", not_permitted[i]);
        assert_int_equal(egress_permitted_read(&arena, "host.carrel.internal:5432", &entry, &e), 0);
        assert_true(egress_is_host(entry.host) && entry.port_count == 1 && entry.ports[0] == 5432);
        assert_string_equal(egress_text(&entry, text), "host.carrel.internal:5432");
        assert_int_equal(egress_read(&arena, "ghost.carrel.internals:5432", &entry, &e), 0);
        arena_fini(&arena);
}

static void
private_names_are_known(void **state)
{
        static const char *const private[] = { "localhost",
                                               "LOCALHOST.",
                                               "a.localhost",
                                               "x.local",
                                               "metadata.google.internal",
                                               "h.localdomain",
                                               "home.arpa",
                                               "x.home.arpa",
                                               "internal",
                                               "HOME.ARPA.",
                                               "a.INTERNAL." };
        static const char *const public[] = { "api.openai.com", "localhost.evil.test",
                                              "mylocal",        "arpa",
                                              "notlocalhost",   "internal.example.com",
                                              "myinternal",     "" };

        (void)state;
        for (size_t i = 0; i < sizeof private / sizeof private[0]; i++)
                assert_true(egress_is_private_name(private[i]));
        for (size_t i = 0; i < sizeof public / sizeof public[0]; i++)
                assert_false(egress_is_private_name(public[i]));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(good_entries_have_one_form),
                cmocka_unit_test(bad_entries_have_a_reason),
                cmocka_unit_test(only_what_is_listed_is_allowed),
                cmocka_unit_test(covers_never_widens),
                cmocka_unit_test(a_private_name_without_a_port_is_any_port),
                cmocka_unit_test(the_host_itself_is_no_entry),
                cmocka_unit_test(private_names_are_known),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
