/*
 * egress/host_test.c - a resolver reads an accepted name as the same name, and never as an address.
 *
 * This compares the one parser of names (egress_host_read) with those of the C library. Two
 * different parsers of one name are how a NUL byte once bypassed a proxy.
 */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "base/unit.h"
#include "spec/egress.h"

/* True: one of these parsers reads an address. AI_NUMERICHOST asks no server. */
static bool
is_address_to_somebody(const char *text)
{
        struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM },
                        *found = NULL;
        struct in_addr four;
        struct in6_addr six;
        bool is_found = getaddrinfo(text, NULL, &hints, &found) == 0;

        if (is_found)
                freeaddrinfo(found);
        return is_found || inet_aton(text, &four) != 0 || inet_pton(AF_INET, text, &four) == 1 ||
               inet_pton(AF_INET6, text, &six) == 1;
}

/* Converts to the bytes of a question and back. */
static bool
comes_back(const char *text)
{
        unsigned char wire[NS_MAXCDNAME];
        char again[NS_MAXDNAME];

        return ns_name_pton(text, wire, sizeof wire) >= 0 &&
               ns_name_ntop(wire, again, sizeof again) >= 0 && strcmp(text, again) == 0;
}

static void
check(const char *text)
{
        char host[EGRESS_HOST_MAX + 1];

        if (!egress_host_read(text, host))
                return;
        if (is_address_to_somebody(host) || is_address_to_somebody(text))
                fail_msg("%s is accepted, and is an address", text);
        if (!comes_back(host))
                fail_msg("%s does not come back", host);
}

static void
H04_spellings_of_addresses_are_no_names(void **state)
{
        static const char *const texts[] = {
                "127.1",
                "2130706433",
                "0x7f.1",
                "0177.0.0.1",
                "0",
                "127.0.0.1.",
                "0x7f000001",
                "0X7F.0.0.1",
                "127.0.1",
                "017700000001",
                "1",
                "00",
                "0x0",
                "0x",
                "0x.0x.0x.0x",
                "4294967295",
                "1.2.3",
                "1.2.3.4",
                "::1",
                "::",
                "::ffff:7f00:1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
                "fe80::1",
                "fe80::1%lo",
                "[::1]",
                "0.0.0.0.",
                "255.255.255.255",
                "0300.0250.1",
                "127.0x1",
        };

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                char host[EGRESS_HOST_MAX + 1];

                if (egress_host_read(texts[i], host))
                        fail_msg("%s is accepted as %s", texts[i], host);
        }
}

static void
names_are_never_addresses(void **state)
{
        static const char *const pieces[] = { "0",    "1",   "127",  "0x", "0x7f", "7f",       "a",
                                              "F",    "x",   ".",    ".",  ".",    "-",        "_",
                                              "xn--", "\\",  "$",    "@",  " ",    "\xc3\xa4", ":",
                                              "%",    "com", "0377", "08" };
        uint64_t seed = 88172645463325252u;
        unsigned accepted = 0;

        for (int round = 0; round < 300000; round++) {
                char text[128] = "", host[EGRESS_HOST_MAX + 1];
                size_t len = 0;

                for (unsigned i = 0, count = 1 + (unsigned)(seed >> 20) % 9; i < count; i++) {
                        const char *piece;

                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        piece = pieces[seed % (seed % 8 == 0 ? 25 : 14)];
                        memcpy(text + len, piece, strlen(piece) + 1);
                        len += strlen(piece);
                }
                accepted += egress_host_read(text, host);
                check(text);
        }
        assert_true(accepted > 1000);
}

/* A NUL ends the name for every parser; only a few other bytes are valid in a name. */
static void
every_byte_is_one_of_few(void **state)
{
        for (int byte = 1; byte < 256; byte++) {
                char text[] = "a?b.test", host[EGRESS_HOST_MAX + 1];
                bool is_good = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' ||
                               byte == '.';

                text[1] = (char)byte;
                if (egress_host_read(text, host) != is_good)
                        fail_msg("byte %d", byte);
                check(text);
        }
}

static void
the_longest_names_come_back(void **state)
{
        char text[EGRESS_HOST_MAX + 3], host[EGRESS_HOST_MAX + 1];

        for (size_t len = 1; len <= EGRESS_HOST_MAX + 1; len++) {
                bool is_good = len <= EGRESS_HOST_MAX && len % 64 != 0;

                memset(text, 'a', len);
                for (size_t i = 63; i < len; i += 64)
                        text[i] = '.';
                text[len] = '\0';
                if (len % 64 == 0)
                        is_good = len <= EGRESS_HOST_MAX; /* a final dot */
                if (egress_host_read(text, host) != is_good)
                        fail_msg("%zu bytes", len);
                check(text);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H04_spellings_of_addresses_are_no_names),
                cmocka_unit_test(names_are_never_addresses),
                cmocka_unit_test(every_byte_is_one_of_few),
                cmocka_unit_test(the_longest_names_come_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
