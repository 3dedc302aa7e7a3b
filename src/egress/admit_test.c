/*
 * egress/admit_test.c - which hosts may be reached: the tables of group H that need no network, and
 * properties of every list.
 *
 * slow: 20 s: with sanitizers, as it computes over every list
 */
#include "egress/admit.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/unit.h"

enum { LIST_MAX = 8 };

struct list {
        struct arena arena;
        struct spec_egress entries[LIST_MAX];
        struct egress_policy policy;
};

/*
 * "a b c": entries with blanks between. An invalid entry is left out, because a manifest with it
 * would be refused.
 */
static void
list_init(struct list *l, const char *text)
{
        char word[300];
        struct error e;

        memset(l, 0, sizeof *l);
        arena_init(&l->arena, 1 << 20);
        for (; *text; text += strspn(text, " ")) {
                size_t len = strcspn(text, " ");

                assert_true(len < sizeof word);
                memcpy(word, text, len);
                word[len] = '\0';
                if (egress_read(&l->arena, word, &l->entries[l->policy.allow_count], &e) == 0)
                        l->policy.allow_count++;
                text += len;
        }
        l->policy.allow = l->entries;
        assert_int_equal(admit_policy_make(&l->arena, &l->policy), 0);
}

/* Like the gate: canonical, or "". */
static struct egress_host
host_of(const char *text)
{
        struct egress_host h;

        if (!egress_host_read(text, h.text))
                h.text[0] = '\0';
        return h;
}

static void
H02_names_are_matched_by_this_table(void **state)
{
        static const struct {
                const char *list, *host;
                enum denial denial;
        } cases[] = {
                { "*.anthropic.com", "a.anthropic.com", DENIAL_NONE },
                { "*.anthropic.com", "a.b.anthropic.com", DENIAL_NONE },
                { "*.anthropic.com", "A.ANTHROPIC.COM.", DENIAL_NONE },
                { "*.anthropic.com", "anthropic.com", DENIAL_NOT_LISTED },
                { "*.anthropic.com", "evilanthropic.com", DENIAL_NOT_LISTED },
                { "*.anthropic.com", "anthropic.com.evil", DENIAL_NOT_LISTED },
                { "*.anthropic.com", ".anthropic.com", DENIAL_BAD_NAME },
                { "*.anthropic.com", "..anthropic.com", DENIAL_BAD_NAME },
                { "anthropic.com", "anthropic.com", DENIAL_NONE },
                { "anthropic.com", "a.anthropic.com", DENIAL_NOT_LISTED },
                { "anthropic.com", "anthropic.com..", DENIAL_BAD_NAME },
                { "anthropic.com", "anthropic.com:443", DENIAL_BAD_NAME },
                { "anthropic.com", "user@anthropic.com", DENIAL_BAD_NAME },
                { "anthropic.com", "[anthropic.com]", DENIAL_BAD_NAME },
                { "anthropic.com", "anthropic.com/", DENIAL_BAD_NAME },
                { "anthropic.com", "anthropic.com ", DENIAL_BAD_NAME },
                { "anthropic.com", "anthropic.com\n", DENIAL_BAD_NAME },
                { "anthropic.com", "anthropic%2ecom", DENIAL_BAD_NAME },
                { "anthropic.com",
                  "anthropic\xe3\x80\x82"
                  "com",
                  DENIAL_BAD_NAME },
                { "anthropic.com", "\xd0\xb0nthropic.com", DENIAL_BAD_NAME },
                { "anthropic.com", "xn--nthropic-6fg.com", DENIAL_NOT_LISTED },
                { "a_b.test", "a_b.test", DENIAL_NONE },
                { "a.test",
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.a.test",
                  DENIAL_BAD_NAME },
                { "* *.com a*.x *a.x.y", "a.com", DENIAL_NOT_LISTED },
                { "", "a.test", DENIAL_NOT_LISTED },
                { "a.test", "", DENIAL_BAD_NAME },
                { "a.test", ".", DENIAL_BAD_NAME },
                /* H04: an address in any spelling is not a name */
                { "a.test", "127.0.0.1", DENIAL_BAD_NAME },
                { "a.test", "127.1", DENIAL_BAD_NAME },
                { "a.test", "2130706433", DENIAL_BAD_NAME },
                { "a.test", "0x7f.1", DENIAL_BAD_NAME },
                { "a.test", "0177.0.0.1", DENIAL_BAD_NAME },
                { "a.test", "0", DENIAL_BAD_NAME },
                { "a.test", "[::]", DENIAL_BAD_NAME },
                { "a.test", "::ffff:7f00:1", DENIAL_BAD_NAME },
                { "a.test", "127.0.0.1.", DENIAL_BAD_NAME },
                { "a.test", "a.1", DENIAL_BAD_NAME },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct list l;
                struct egress_host host = host_of(cases[i].host);
                int entry;
                enum denial denial;

                list_init(&l, cases[i].list);
                denial = admit_name(&l.policy, &host, &entry);
                if (denial != cases[i].denial || (denial == DENIAL_NONE) != (entry == 0))
                        fail_msg("%s, %s: %s", cases[i].list, cases[i].host, denial_name(denial));
                arena_fini(&l.arena);
        }
}

static void
H08_ports_are_listed_too(void **state)
{
        static const struct {
                const char *list, *host;
                uint16_t port;
                enum denial denial;
                int entry;
                bool needs_look;
        } cases[] = {
                { "a.test", "a.test", 80, DENIAL_NONE, 0, true },
                { "a.test", "a.test", 443, DENIAL_NONE, 0, true },
                { "a.test", "a.test", 22, DENIAL_PORT, -1, true },
                { "a.test", "a.test", 25, DENIAL_PORT, -1, true },
                { "a.test", "a.test", 6443, DENIAL_PORT, -1, true },
                { "a.test", "a.test", 0, DENIAL_PORT, -1, true },
                { "a.test a.test:5432", "a.test", 5432, DENIAL_NONE, 1, false },
                { "a.test:5432", "a.test", 80, DENIAL_PORT, -1, true },
                { "*.test.x:22", "a.test.x", 22, DENIAL_NONE, 0, false },
                { "*.test.x:22", "test.x", 22, DENIAL_NOT_LISTED, -1, true },
                { "a.test:443", "a.test", 443, DENIAL_NONE, 0, true },
                { "a.test:80", "a.test", 80, DENIAL_NONE, 0, true },
                { "a.test:443", "a.test", 80, DENIAL_PORT, -1, true },
                { "a.test:22 b.test", "b.test", 22, DENIAL_PORT, -1, true },
                { "a.test", "", 443, DENIAL_NO_NAME, -1, true },
                { "a.test", "b.test", 443, DENIAL_NOT_LISTED, -1, true },
                { "", "a.test", 443, DENIAL_NOT_LISTED, -1, true },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct list l;
                struct egress_host host = host_of(cases[i].host);
                int entry;
                enum denial denial;

                list_init(&l, cases[i].list);
                denial = admit_connection(&l.policy, &host, cases[i].port, &entry);
                if (denial != cases[i].denial || entry != cases[i].entry ||
                    admit_needs_look(&l.policy, &host, cases[i].port) != cases[i].needs_look)
                        fail_msg("%s, %s:%u: %s by %d", cases[i].list, cases[i].host, cases[i].port,
                                 denial_name(denial), entry);
                arena_fini(&l.arena);
        }
}

static void
H12_H13_names_have_to_match_the_connection(void **state)
{
        static const struct {
                uint16_t port;
                enum egress_protocol protocol;
                const char *said;
                enum denial denial;
        } cases[] = {
                { 443, PROTOCOL_TLS, "a.test", DENIAL_NONE },
                { 443, PROTOCOL_TLS, "A.Test.", DENIAL_NONE },
                { 443, PROTOCOL_TLS, "", DENIAL_SNI_NONE },
                { 443, PROTOCOL_TLS, "evil.test", DENIAL_SNI_OTHER },
                { 443, PROTOCOL_TLS, "b.test", DENIAL_SNI_OTHER },
                { 80, PROTOCOL_HTTP1, "a.test", DENIAL_NONE },
                { 80, PROTOCOL_HTTP1, "b.test", DENIAL_HOST_OTHER },
                { 80, PROTOCOL_HTTP1, "", DENIAL_HOST_NONE },
                { 80, PROTOCOL_HTTP2, "a.test", DENIAL_NONE },
                { 80, PROTOCOL_HTTP2, "b.test", DENIAL_HOST_OTHER },
                { 80, PROTOCOL_HTTP2, "", DENIAL_HOST_NONE },
                { 80, PROTOCOL_TCP, "", DENIAL_PROTOCOL },
                { 443, PROTOCOL_TCP, "", DENIAL_PROTOCOL },
                { 443, PROTOCOL_UNKNOWN, "", DENIAL_PROTOCOL },
                { 443, PROTOCOL_UNKNOWN, "a.test", DENIAL_PROTOCOL },
                { 5432, PROTOCOL_TCP, "", DENIAL_NONE },
                { 5432, PROTOCOL_UNKNOWN, "", DENIAL_PROTOCOL },
                { 5433, PROTOCOL_TCP, "", DENIAL_PORT },
                { 5433, PROTOCOL_TLS, "a.test", DENIAL_PORT },
        };
        struct list l;
        struct egress_host a = host_of("a.test"), c = host_of("c.test"), none = host_of("");

        list_init(&l, "a.test b.test a.test:5432");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct egress_host said = host_of(cases[i].said);
                enum denial denial =
                        admit_evidence(&l.policy, &a, cases[i].port, cases[i].protocol, &said);

                if (denial != cases[i].denial)
                        fail_msg("%s said on port %u: %s", cases[i].said, cases[i].port,
                                 denial_name(denial));
        }
        /* the list was changed meanwhile */
        assert_int_equal(admit_evidence(&l.policy, &c, 443, PROTOCOL_TLS, &c), DENIAL_NOT_LISTED);
        assert_int_equal(admit_evidence(&l.policy, &none, 443, PROTOCOL_TLS, &a), DENIAL_NO_NAME);
        arena_fini(&l.arena);
}

static void
names_above_listed_ones_are_there(void **state)
{
        static const struct {
                const char *list, *host;
                bool is_above;
        } cases[] = {
                { "api.a.test", "a.test", true },
                { "api.a.test", "test", true },
                { "api.a.test", "api.a.test", false },
                { "api.a.test", "pi.a.test", false },
                { "api.a.test", "b.test", false },
                { "*.a.test", "a.test", true },
                { "*.a.test", "test", true },
                { "*.a.test", "x.a.test", false },
                { "", "test", false },
                { "api.a.test", "", false },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct list l;
                struct egress_host host = host_of(cases[i].host);

                list_init(&l, cases[i].list);
                if (admit_is_above(&l.policy, &host) != cases[i].is_above)
                        fail_msg("%s above %s", cases[i].host, cases[i].list);
                arena_fini(&l.arena);
        }
}

static void
private_names_are_the_operators(void **state)
{
        struct list l, private;
        struct egress_host db = host_of("db.internal"), a = host_of("a.test"), none = host_of("");

        list_init(&l, "db.internal:5432 a.test");
        list_init(&private, "*.corp.internal db.internal:5432");
        l.policy.private_names = private.entries;
        l.policy.private_count = private.policy.allow_count;
        assert_int_equal(admit_policy_make(&l.arena, &l.policy), 0);
        assert_true(admit_may_be_private(&l.policy, &db, 5432));
        assert_false(admit_may_be_private(&l.policy, &db, 443));
        assert_false(admit_may_be_private(&l.policy, &db, 0));
        assert_false(admit_may_be_private(&l.policy, &a, 443));
        assert_false(admit_may_be_private(&l.policy, &none, 443));
        assert_int_equal(admit_reach(&l.policy, &db, 5432), REACH_PRIVATE);
        assert_int_equal(admit_reach(&l.policy, &db, 443), REACH_PUBLIC);
        assert_int_equal(admit_reach(&l.policy, &none, 443), REACH_PUBLIC);
        arena_fini(&l.arena);
        arena_fini(&private.arena);
}

static void
the_host_is_reached_on_listed_ports_alone(void **state)
{
        struct list l;
        struct egress_host host = host_of("host.carrel.internal"),
                           parent = host_of("carrel.internal");
        char text[512];
        int entry;

        (void)state;
        list_init(&l, "a.test");
        assert_int_equal(admit_name(&l.policy, &host, &entry), DENIAL_HOST_PORT);
        assert_int_equal(admit_connection(&l.policy, &host, 5432, &entry), DENIAL_HOST_PORT);
        assert_int_equal(admit_reach(&l.policy, &host, 5432), REACH_PUBLIC);
        l.entries[l.policy.allow_count++] = egress_host_port(5432);
        l.entries[l.policy.allow_count++] = egress_host_port(80);
        assert_int_equal(admit_policy_make(&l.arena, &l.policy), 0);
        assert_int_equal(admit_name(&l.policy, &host, &entry), DENIAL_NONE);
        assert_int_equal(admit_name(&l.policy, &parent, &entry), DENIAL_NOT_LISTED);
        assert_int_equal(admit_connection(&l.policy, &host, 5432, &entry), DENIAL_NONE);
        assert_int_equal(admit_connection(&l.policy, &host, 443, &entry), DENIAL_HOST_PORT);
        assert_int_equal(admit_reach(&l.policy, &host, 5432), REACH_HOST_PORT);
        assert_int_equal(admit_reach(&l.policy, &host, 443), REACH_PUBLIC);
        assert_int_equal(admit_reach(&l.policy, &host, 0), REACH_PUBLIC);
        assert_false(admit_needs_look(&l.policy, &host, 5432) ||
                     admit_needs_look(&l.policy, &host, 80));
        assert_true(admit_needs_look(&l.policy, &host, 443));
        (void)denial_text(DENIAL_HOST_PORT, host.text, 443, NULL, text, sizeof text);
        assert_non_null(strstr(text, "host_ports: [443]"));
        (void)denial_text(DENIAL_HOST_PORT, host.text, 0, NULL, text, sizeof text);
        assert_non_null(strstr(text, "host_ports: [PORT]"));
        arena_fini(&l.arena);
}

static void
only_localhost_is_this_host(void **state)
{
        static const struct {
                const char *host;
                enum admit_reach reach;
        } cases[] = {
                { "localhost", REACH_THIS_HOST },           { "a.localhost", REACH_THIS_HOST },
                { "notlocalhost.internal", REACH_PRIVATE }, { "alocalhost", REACH_PRIVATE },
                { "localhost.internal", REACH_PRIVATE },    { "a.test", REACH_PUBLIC },
        };
        struct list private;

        list_init(&private, "localhost alocalhost *.internal *.internal:8 a.localhost "
                            "notlocalhost.internal localhost.internal");
        private.policy.private_names = private.policy.allow;
        private.policy.private_count = private.policy.allow_count;
        assert_int_equal(admit_policy_make(&private.arena, &private.policy), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct egress_host host = host_of(cases[i].host);

                if (admit_reach(&private.policy, &host, 443) != cases[i].reach)
                        fail_msg("%s", cases[i].host);
        }
        arena_fini(&private.arena);
}

static void
explanations_read_as_the_gate_does(void **state)
{
        static const struct {
                const char *text;
                enum denial denial;
                int entry;
                const char *host;
                uint16_t port;
                bool needs_look;
        } cases[] = {
                { "A.test.", DENIAL_NONE, 0, "a.test", 0, true },
                { "a.test:443", DENIAL_NONE, 0, "a.test", 443, true },
                { "a.test:5432", DENIAL_NONE, 1, "a.test", 5432, false },
                { "a.test:22", DENIAL_PORT, -1, "a.test", 22, true },
                { "b.test:443", DENIAL_NOT_LISTED, -1, "b.test", 443, true },
                { "127.0.0.1:443", DENIAL_BAD_NAME, -1, "", 0, false },
                { "a.test:", DENIAL_BAD_NAME, -1, "", 0, false },
                { "a.test:0", DENIAL_BAD_NAME, -1, "", 0, false },
                { "a.test:65536", DENIAL_BAD_NAME, -1, "", 0, false },
                { "a.test:0443", DENIAL_BAD_NAME, -1, "", 0, false },
                { "a.test:443x", DENIAL_BAD_NAME, -1, "", 0, false },
                { "[::1]:443", DENIAL_BAD_NAME, -1, "", 0, false },
                { "", DENIAL_BAD_NAME, -1, "", 0, false },
                { "*.a.test", DENIAL_BAD_NAME, -1, "", 0, false },
                { "a.test:443:443", DENIAL_BAD_NAME, -1, "", 0, false },
                { "db.test", DENIAL_NONE, 2, "db.test", 0, false },
        };
        struct list l;

        list_init(&l, "a.test a.test:5432 db.test:22");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct admit_decision d;

                admit_explain(&l.policy, cases[i].text, &d);
                if (d.denial != cases[i].denial || d.entry != cases[i].entry ||
                    strcmp(d.host.text, cases[i].host) != 0 || d.port != cases[i].port ||
                    d.needs_look != cases[i].needs_look)
                        fail_msg("%s: %s by %d, %s:%u", cases[i].text, denial_name(d.denial),
                                 d.entry, d.host.text, d.port);
        }
        arena_fini(&l.arena);
}

/* -- properties of every list ------------------------------------------------------------------ */

static uint64_t
next(uint64_t *seed)
{
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return *seed;
}

/* Few letters, so that names often match. */
static void
random_host(uint64_t *seed, char *ret)
{
        static const char *const labels[] = { "a", "b",  "aa",   "ab",   "A",  "xn--a",
                                              "1", "a_", "test", "TEST", "com" };
        unsigned count = 1 + (unsigned)(next(seed) % 4);

        *ret = '\0';
        for (unsigned i = 0; i < count; i++) {
                const char *label = labels[next(seed) % (sizeof labels / sizeof *labels)];
                size_t len = strlen(ret);

                (void)snprintf(ret + len, 64 - len, "%s%s", i > 0 ? "." : "", label);
        }
        if (next(seed) % 4 == 0)
                (void)snprintf(ret + strlen(ret), 2, ".");
}

static void
random_entry(uint64_t *seed, char *ret)
{
        char host[64];
        static const char *const ports[] = { "", "", ":443", ":80", ":22" };

        random_host(seed, host);
        (void)snprintf(ret, 80, "%s%s%s", next(seed) % 3 == 0 ? "*." : "", host,
                       ports[next(seed) % 5]);
}

/*
 * H21: a host and its canonical form are judged alike. A longer list permits no less. The returned
 * entry alone permits what was permitted. An empty list permits nothing. Another name never matches
 * a connection.
 */
static void
H21_every_list_keeps_these_laws(void **state)
{
        static const uint16_t ports[] = { 80, 443, 22, 0, 5432 };
        uint64_t seed = 0x9e3779b97f4a7c15u;

        for (int round = 0; round < 62500; round++) {
                char text[80 * LIST_MAX + 1] = "", entry_text[80], host_text[64], other_text[64];
                unsigned count = (unsigned)(next(&seed) % LIST_MAX);
                uint16_t port = ports[next(&seed) % 5];
                struct list l;

                for (unsigned i = 0; i < count; i++) {
                        random_entry(&seed, entry_text);
                        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
                                       entry_text);
                }
                list_init(&l, text);
                for (int i = 0; i < 16; i++) {
                        struct egress_host host, again, other;
                        struct egress_policy less = l.policy, alone = l.policy;
                        int entry, entry_less;
                        enum denial denial, denial_less;

                        random_host(&seed, host_text);
                        random_host(&seed, other_text);
                        host = host_of(host_text);
                        other = host_of(other_text);
                        again = host_of(host.text);
                        assert_string_equal(host.text, again.text);
                        assert_int_equal(
                                egress_allows(l.entries, l.policy.allow_count, host_text, port),
                                egress_allows(l.entries, l.policy.allow_count, host.text, port));
                        denial = admit_connection(&l.policy, &host, port, &entry);
                        if (less.allow_count > 0)
                                less.allow_count--;
                        assert_int_equal(admit_policy_make(&l.arena, &less), 0);
                        denial_less = admit_connection(&less, &host, port, &entry_less);
                        if (denial_less == DENIAL_NONE && denial != DENIAL_NONE)
                                fail_msg("%s: the last entry forbids %s:%u", text, host.text, port);
                        if (denial == DENIAL_NONE) {
                                assert_in_range(entry, 0, l.policy.allow_count - 1);
                                alone.allow = &l.entries[entry];
                                alone.allow_count = 1;
                                assert_int_equal(admit_policy_make(&l.arena, &alone), 0);
                                assert_int_equal(admit_connection(&alone, &host, port, &entry),
                                                 DENIAL_NONE);
                                assert_int_equal(admit_name(&l.policy, &host, &entry), DENIAL_NONE);
                        }
                        alone.allow_count = 0;
                        assert_int_equal(admit_policy_make(&l.arena, &alone), 0);
                        assert_int_not_equal(admit_connection(&alone, &host, port, &entry),
                                             DENIAL_NONE);
                        if (strcmp(host.text, other.text) != 0)
                                assert_int_not_equal(admit_evidence(&l.policy, &host, port,
                                                                    PROTOCOL_TLS, &other),
                                                     DENIAL_NONE);
                }
                arena_fini(&l.arena);
        }
}

/* -- texts ------------------------------------------------------------------------------------- */

static void
every_denial_has_words(void **state)
{
        char text[1024];

        for (int d = DENIAL_NONE + 1; d < DENIAL_MAX; d++) {
                size_t len =
                        denial_text((enum denial)d, "a.test", 443, "b.test", text, sizeof text);

                if (len != strlen(text) || len < 20 || text[len - 1] != '.' || strchr(text, '%') ||
                    !denial_name((enum denial)d)[0])
                        fail_msg("%d: %s", d, text);
                for (int other = d + 1; other < DENIAL_MAX; other++)
                        assert_string_not_equal(denial_name((enum denial)d),
                                                denial_name((enum denial)other));
        }
        assert_string_equal(denial_name(DENIAL_MAX), "gate_failed");
}

static void
sentences_name_what_was_requested(void **state)
{
        char text[200], small[16];

        (void)denial_text(DENIAL_NOT_LISTED, "a.test", 443, NULL, text, sizeof text);
        assert_string_equal(
                text, "a.test:443 is not in network.egress of this sandbox. Add \"a.test:443\" to "
                      "network.egress in SANDBOX.md, or ask the owner of the sandbox to add it.");
        (void)denial_text(DENIAL_ADDRESS, "a.test", 443, NULL, text, sizeof text);
        assert_non_null(strstr(text, "a.test:443 leads only"));
        assert_non_null(strstr(text, "`getent ahosts a.test`"));
        (void)denial_text(DENIAL_SNI_OTHER, "a.test", 443, "evil\x1b[2J\n\"\\\xff.test", text,
                          sizeof text);
        assert_non_null(strstr(text, "evil?[2J????.test"));
        (void)denial_text(DENIAL_NO_NAME, "", 0, "", text, sizeof text);
        assert_non_null(strstr(text, "leads to it."));
        (void)denial_text(DENIAL_NO_NAME, NULL, 80, "", text, sizeof text);
        assert_non_null(strstr(text, "leads to this address:80."));
        (void)denial_text(DENIAL_NO_NAME, "2001:db8::1", 80, "", text, sizeof text);
        assert_non_null(strstr(text, "leads to [2001:db8::1]:80."));
        memset(small, 'x', sizeof small);
        assert_int_equal(denial_text(DENIAL_NOT_LISTED, "a.test", 443, NULL, small, 8), 7);
        assert_string_equal(small, "a.test:");
        assert_int_equal(small[8], 'x');
        assert_int_equal(denial_text(DENIAL_NOT_LISTED, "a.test", 443, NULL, small, 0), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H02_names_are_matched_by_this_table),
                cmocka_unit_test(H08_ports_are_listed_too),
                cmocka_unit_test(H12_H13_names_have_to_match_the_connection),
                cmocka_unit_test(names_above_listed_ones_are_there),
                cmocka_unit_test(private_names_are_the_operators),
                cmocka_unit_test(the_host_is_reached_on_listed_ports_alone),
                cmocka_unit_test(only_localhost_is_this_host),
                cmocka_unit_test(explanations_read_as_the_gate_does),
                cmocka_unit_test(H21_every_list_keeps_these_laws),
                cmocka_unit_test(every_denial_has_words),
                cmocka_unit_test(sentences_name_what_was_requested),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
