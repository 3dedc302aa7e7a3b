/*
 * egress/address_test.c - which addresses are refused, in every form that contains them, and the
 * effect of the operator's rules.
 */
#include "egress/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/unit.h"

static struct egress_address
address(const char *text)
{
        struct egress_network n;

        if (!egress_network_read(text, &n) || n.bits != 128)
                fail_msg("%s is no address", text);
        return n.base;
}

static const char *
kind_of(const char *text, const struct egress_network *may, size_t count)
{
        struct egress_address a = address(text);
        const char *kind = egress_address_refused(&a, may, count);

        return kind ? kind : "";
}

static void
H04_H07_addresses_are_refused_by_this_table(void **state) /* taste: its table is long */
{
        static const struct {
                const char *address, *kind;
        } cases[] = {
                { "1.1.1.1", "" },
                { "8.8.8.8", "" },
                { "93.184.216.34", "" },
                { "100.63.255.255", "" },
                { "100.128.0.0", "" },
                { "172.15.255.255", "" },
                { "172.32.0.0", "" },
                { "192.0.1.0", "" },
                { "198.17.255.255", "" },
                { "198.20.0.0", "" },
                { "223.255.255.255", "" },
                { "11.0.0.0", "" },
                { "126.255.255.255", "" },
                { "128.0.0.0", "" },
                { "2606:4700::1111", "" },
                { "2a00:1450::1", "" },
                { "2001:200::1", "" },
                { "2001:4860:4860::8888", "" },
                { "2000::", "" },
                { "0.0.0.0", "unspecified" },
                { "0.0.0.1", "reserved" },
                { "10.0.0.0", "private" },
                { "10.255.255.255", "private" },
                { "100.64.0.0", "shared" },
                { "100.127.255.255", "shared" },
                { "127.0.0.1", "loopback" },
                { "127.255.255.255", "loopback" },
                { "169.254.0.0", "link-local" },
                { "169.254.255.255", "link-local" },
                { "172.16.0.0", "private" },
                { "172.31.255.255", "private" },
                { "192.0.0.8", "reserved" },
                { "192.0.0.170", "reserved" },
                { "192.0.2.1", "documentation" },
                { "192.31.196.1", "reserved" },
                { "192.52.193.1", "reserved" },
                { "192.88.99.1", "reserved" },
                { "192.168.0.1", "private" },
                { "192.175.48.1", "reserved" },
                { "198.18.0.1", "benchmarking" },
                { "198.19.255.255", "benchmarking" },
                { "198.51.100.1", "documentation" },
                { "203.0.113.1", "documentation" },
                { "224.0.0.1", "multicast" },
                { "239.255.255.255", "multicast" },
                { "240.0.0.1", "reserved" },
                { "255.255.255.255", "reserved" },
                { "169.254.169.254", "metadata" },
                { "169.254.170.2", "metadata" },
                { "100.100.100.200", "metadata" },
                { "168.63.129.16", "metadata" },
                { "192.0.0.192", "metadata" },
                { "fd00:ec2::254", "metadata" },
                { "fd20:ce::254", "metadata" },
                { "::", "unspecified" },
                { "::1", "loopback" },
                { "fe80::1", "link-local" },
                { "febf::1", "link-local" },
                { "fec0::1", "private" },
                { "fc00::1", "private" },
                { "fdff::1", "private" },
                { "ff02::1", "multicast" },
                { "100::1", "discard" },
                { "100:0:0:1::1", "reserved" },
                { "2001:db8::1", "documentation" },
                { "2001:2::1", "benchmarking" },
                { "2001:10::1", "reserved" },
                { "2001:1ff:ffff::", "reserved" },
                { "2620:4f:8000::1", "reserved" },
                { "3fff::1", "documentation" },
                { "3ffe::1", "reserved" },
                { "5f00::1", "reserved" },
                { "1::", "not-global" },
                { "4000::", "not-global" },
                { "64:ff9b:2::1", "not-global" },
                { "fd63:6172:7265:6c00::100", "private" },
                /* forms that contain IPv4 */
                { "::ffff:127.0.0.1", "loopback" },
                { "::ffff:7f00:1", "loopback" },
                { "::ffff:8.8.8.8", "" },
                { "::ffff:169.254.169.254", "metadata" },
                { "::127.0.0.1", "loopback" },
                { "::7f00:1", "loopback" },
                { "::8.8.8.8", "not-global" },
                { "::ffff:0:127.0.0.1", "loopback" },
                { "::ffff:0:8.8.8.8", "not-global" },
                { "64:ff9b::7f00:1", "loopback" },
                { "64:ff9b::10.0.0.1", "private" },
                { "64:ff9b::169.254.169.254", "metadata" },
                { "64:ff9b::8.8.8.8", "" },
                { "64:ff9b:1::8.8.8.8", "translated" },
                { "64:ff9b:1:7f00:0:100::", "translated" },
                { "2002:7f00:1::", "loopback" },
                { "2002:a00:1::1", "private" },
                { "2002:a9fe:a9fe::1", "metadata" },
                { "2002:808:808::1", "" },
                { "2001:0:7f00:1::", "loopback" },
                { "2001:0:808:808:0:0:80ff:fffe", "loopback" },
                { "2001:0:808:808:0:0:f5ff:fffe", "private" },
                { "2001:0:808:808:0:0:f7f7:f7f7", "reserved" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (strcmp(kind_of(cases[i].address, NULL, 0), cases[i].kind) != 0)
                        fail_msg("%s: \"%s\"", cases[i].address,
                                 kind_of(cases[i].address, NULL, 0));
}

static void
H07_an_operator_permits_networks(void **state)
{
        static const struct {
                const char *may, *address, *kind;
        } cases[] = {
                { "10.0.0.0/8", "10.1.2.3", "" },
                { "10.0.0.0/8", "::ffff:10.1.2.3", "" },
                { "10.0.0.0/8", "64:ff9b::10.1.2.3", "" },
                { "10.0.0.0/8", "192.168.0.1", "private" },
                { "127.0.0.0/8", "127.0.0.1", "" },
                { "127.0.0.1", "127.0.0.2", "loopback" },
                { "::1", "::1", "" },
                { "fd00::/8", "fd12::1", "" },
                { "fd00::/8", "fd00:ec2::254", "metadata" },
                { "::/0", "fd00:ec2::254", "metadata" },
                { "::/0", "127.0.0.1", "" },
                { "0.0.0.0/0", "127.0.0.1", "" },
                { "0.0.0.0/0", "::1", "loopback" },
                { "0.0.0.0/0", "169.254.169.254", "metadata" },
                { "169.254.0.0/16", "169.254.169.254", "metadata" },
                { "169.254.169.254/32", "169.254.169.254", "" },
                { "169.254.169.254", "169.254.169.254", "" },
                { "169.254.0.0/16", "169.254.1.1", "" },
                { "64:ff9b::/96", "64:ff9b::10.0.0.1", "private" },
                { "64:ff9b:1::/48", "64:ff9b:1::10.0.0.1", "" },
                { "64:ff9b:1::/48", "64:ff9b:1::169.254.169.254", "metadata" },
                { "64:ff9b:1::/48", "64:ff9b:1:a9fe:a9:fe00::", "metadata" },
                { "2002::/16", "2002:a00:1::1", "private" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct egress_network may;

                assert_true(egress_network_read(cases[i].may, &may));
                if (strcmp(kind_of(cases[i].address, &may, 1), cases[i].kind) != 0)
                        fail_msg("%s where %s is permitted: \"%s\"", cases[i].address, cases[i].may,
                                 kind_of(cases[i].address, &may, 1));
        }
}

static void
an_operator_denies_networks(void **state)
{
        static const struct {
                const char *address, *kind;
        } cases[] = {
                { "203.0.113.9", "denied" },
                { "203.0.114.9", "" },
                { "::ffff:203.0.113.9", "denied" },
                { "64:ff9b::203.0.113.9", "denied" },
                { "2002:cb00:7109::1", "denied" },
                { "10.0.0.1", "" },
                { "10.9.0.1", "denied" },
                { "2001:4860::8", "denied" },
                { "64:ff9b:1::203.0.113.9", "denied" },
                { "64:ff9b:1::8.8.8.8", "" },
        };
        static const char *const rules[] = {
                "!203.0.113.0/24", "10.0.0.0/8",     "!10.9.0.0/16",
                "!2001:4860::/32", "64:ff9b:1::/48", "203.0.113.0/24"
        };
        struct egress_network read[sizeof rules / sizeof *rules], other;

        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
                assert_true(egress_network_rule_read(rules[i], &read[i]));
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (strcmp(kind_of(cases[i].address, read, sizeof read / sizeof *read),
                           cases[i].kind) != 0)
                        fail_msg("%s: \"%s\"", cases[i].address,
                                 kind_of(cases[i].address, read, sizeof read / sizeof *read));
        assert_false(egress_network_rule_read("!!10.0.0.0/8", &other) ||
                     egress_network_rule_read("!", &other) ||
                     egress_network_read("!10.0.0.0/8", &other));
}

static void
names_may_be_private_and_no_more(void **state)
{
        static const struct {
                const char *address;
                bool is_private;
        } cases[] = {
                { "127.0.0.1", false },   { "::1", false },           { "10.0.0.1", true },
                { "fd12::1", true },      { "100.64.0.1", true },     { "169.254.169.254", false },
                { "169.254.1.1", false }, { "224.0.0.1", false },     { "0.0.0.0", false },
                { "198.18.0.1", false },  { "fd00:ec2::254", false }, { "64:ff9b:1::1", false },
                { "8.8.8.8", false },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct egress_address a = address(cases[i].address);

                if (egress_address_is_private(egress_address_refused(&a, NULL, 0)) !=
                    cases[i].is_private)
                        fail_msg("%s", cases[i].address);
        }
}

static void
networks_are_read_strictly(void **state)
{
        static const struct {
                const char *text;
                bool is_read;
                unsigned bits;
        } cases[] = {
                { "10.0.0.0/8", true, 104 },
                { "0.0.0.0/0", true, 96 },
                { "1.2.3.4", true, 128 },
                { "1.2.3.4/32", true, 128 },
                { "::/0", true, 0 },
                { "fd00::/8", true, 8 },
                { "::1", true, 128 },
                { "2001:db8::/32", true, 32 },
                { "1:2:3:4:5:6:7:8", true, 128 },
                { "::ffff:10.0.0.0/104", true, 104 },
                { "1::8", true, 128 },
                { "1:2:3:4:5:6:7::", true, 128 },
                { "::2:3:4:5:6:7:8", true, 128 },
                { "", false, 0 },
                { "10.0.0.1/8", false, 0 },
                { "10.0.0.0/33", false, 0 },
                { "10.0.0.0/", false, 0 },
                { "10.0.0.0/08", false, 0 },
                { "10.0.0.0/-1", false, 0 },
                { "10.0.0.0/8 ", false, 0 },
                { "10.0.0", false, 0 },
                { "010.0.0.0", false, 0 },
                { "256.0.0.0", false, 0 },
                { "1.2.3.4.5", false, 0 },
                { "0x7f.0.0.1", false, 0 },
                { "localhost", false, 0 },
                { "10.0.0.0/8/8", false, 0 },
                { "1:2:3:4:5:6:7", false, 0 },
                { "1:2:3:4:5:6:7:8:9", false, 0 },
                { "1::2::3", false, 0 },
                { ":::", false, 0 },
                { ":1::", false, 0 },
                { "1:", false, 0 },
                { "12345::", false, 0 },
                { "fe80::1%lo", false, 0 },
                { "[::1]", false, 0 },
                { "::/129", false, 0 },
                { "fd00::1/8", false, 0 },
                { "1:2:3:4:5:6:7:8::", false, 0 },
                { "::1.2.3", false, 0 },
                { "::1.2.3.4:5", false, 0 },
                { "1:2:3:4:5:6:7:1.2.3.4", false, 0 },
                { "g::", false, 0 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct egress_network n;
                bool is_read = egress_network_read(cases[i].text, &n);

                if (is_read != cases[i].is_read || (is_read && n.bits != cases[i].bits))
                        fail_msg("%s: %d", cases[i].text, is_read);
        }
}

/* A text combined from parts of addresses is read as the C library reads it, or refused by both. */
static void
addresses_are_read_as_by_everybody(void **state)
{
        static const char *const pieces[] = { "1", "ff",    "0",    ":",   "::",  "1.2.3.4",
                                              ".", "12345", "abcd", "255", "256", "01" };
        uint64_t seed = 88172645463325252u;

        for (int round = 0; round < 400000; round++) {
                char text[80] = "";
                struct egress_network n;
                uint8_t want[16] = { 0 };
                bool is_read, is_wanted;

                for (unsigned i = 0, count = 1 + (unsigned)(seed >> 20) % 17; i < count; i++) {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        if (i % 2 == 1 && seed % 4 != 0)
                                strncat(text, ":", 2);
                        else if (strlen(text) < 64)
                                strncat(text, pieces[seed % 12], 8);
                }
                if (strchr(text, ':')) {
                        is_wanted = inet_pton(AF_INET6, text, want) == 1;
                } else {
                        is_wanted = inet_pton(AF_INET, text, want + 12) == 1;
                        want[10] = want[11] = 0xff;
                }
                is_read = egress_network_read(text, &n);
                if (is_read != is_wanted || (is_read && memcmp(n.base.bytes, want, 16) != 0))
                        fail_msg("%s: %d and %d", text, is_read, is_wanted);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H04_H07_addresses_are_refused_by_this_table),
                cmocka_unit_test(H07_an_operator_permits_networks),
                cmocka_unit_test(an_operator_denies_networks),
                cmocka_unit_test(names_may_be_private_and_no_more),
                cmocka_unit_test(networks_are_read_strictly),
                cmocka_unit_test(addresses_are_read_as_by_everybody),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
