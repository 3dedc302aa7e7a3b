/*
 * guest/names_test.c - answers, reports and their limits. The test acts as the payload's side of
 * the socket.
 */
#include "egress/admit.h"
#include "guest/names.h"
#include "proto/dns.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"

struct bench {
        struct names n;
        int box, asks;
};

static size_t
write_question(const char *name, uint16_t type, uint8_t ret[NAMES_QUESTION_MAX])
{
        static const uint8_t head[DNS_HEADER_LEN] = { 0x12, 0x34, 1, 0, 0, 1 };
        size_t len = sizeof head;

        memcpy(ret, head, len);
        len += dns_name_write(name, ret + len);
        ret[len++] = (uint8_t)(type >> 8);
        ret[len++] = (uint8_t)type;
        ret[len++] = 0;
        ret[len++] = 1;
        return len;
}

static int
set_up(void **state)
{
        static struct bench b;
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof at;
        int pair[2], names = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        memset(&b, 0, sizeof b);
        b.asks = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (names < 0 || b.asks < 0 || bind(names, (struct sockaddr *)&at, len) < 0 ||
            getsockname(names, (struct sockaddr *)&at, &len) < 0 ||
            connect(b.asks, (struct sockaddr *)&at, len) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
                return -1;
        b.box = pair[0];
        names_init(&b.n, pair[1], names, -1);
        *state = &b;
        return 0;
}

static int
tear_down(void **state)
{
        struct bench *b = *state;

        (void)close(b->box);
        (void)close(b->asks);
        (void)close(b->n.control);
        (void)close(b->n.socket);
        return 0;
}

/* Asks, has it served, and returns the code of the answer. */
static int
ask(struct bench *b, const char *name, uint16_t type)
{
        uint8_t bytes[NAMES_QUESTION_MAX];
        size_t len = write_question(name, type, bytes);

        assert_int_equal(send(b->asks, bytes, len, 0), len);
        names_serve(&b->n);
        assert_true(recv(b->asks, bytes, sizeof bytes, MSG_DONTWAIT) > DNS_HEADER_LEN);
        assert_int_equal(bytes[0], 0x12);
        return bytes[3] & 15;
}

/* Reads one report; false: none. */
static bool
hear(struct bench *b, struct wire_wall_denied *ret)
{
        struct wire_message m;
        int got = wire_receive(b->box, 0, &m, ret, sizeof *ret);

        assert_true(got == 1 || got == -EAGAIN);
        if (got == 1) {
                assert_int_equal(m.kind, WIRE_WALL_DENIED);
                assert_int_equal(m.len, sizeof *ret);
        }
        return got == 1;
}

static void
no_name_exists_and_each_is_reported(void **state)
{
        struct bench *b = *state;
        struct wire_wall_denied d;

        assert_int_equal(ask(b, "Registry.NPMjs.org", DNS_A), DNS_NXDOMAIN);
        assert_int_equal(names_tell(&b->n, false), 0);
        assert_true(hear(b, &d));
        assert_string_equal(d.host, "registry.npmjs.org");
        assert_int_equal(d.reason, DENIAL_NOT_LISTED);
        assert_int_equal(d.count, 1);
        assert_true(d.at_ms > 0);
        assert_false(hear(b, &d));
}

static void
only_questions_for_addresses_are_reported(void **state)
{
        struct bench *b = *state;
        struct wire_wall_denied d;

        assert_int_equal(ask(b, "a.example", DNS_MX), DNS_NXDOMAIN);
        assert_int_equal(ask(b, "4.3.2.1.in-addr.arpa", DNS_PTR), DNS_NXDOMAIN);
        assert_int_equal(ask(b, "a.example", DNS_HTTPS), DNS_NXDOMAIN);
        assert_int_equal(names_tell(&b->n, true), 0);
        assert_false(hear(b, &d));
        assert_int_equal(ask(b, "_http._tcp.deb.example", DNS_AAAA), DNS_NXDOMAIN);
        assert_int_equal(names_tell(&b->n, true), 0);
        assert_true(hear(b, &d));
        assert_string_equal(d.host, "deb.example");
}

static void
an_invalid_host_name_is_reported(void **state)
{
        struct bench *b = *state;
        struct wire_wall_denied d;

        assert_int_equal(ask(b, "a b\x1b.example", DNS_A), DNS_NXDOMAIN);
        assert_int_equal(names_tell(&b->n, true), 0);
        assert_true(hear(b, &d));
        assert_string_equal(d.host, "");
        assert_int_equal(d.reason, DENIAL_BAD_NAME);
}

static void
what_is_malformed_is_answered_and_not_reported(void **state)
{
        struct bench *b = *state;
        struct wire_wall_denied d;
        uint8_t bytes[NAMES_QUESTION_MAX], answer[NAMES_QUESTION_MAX];
        size_t len = write_question("a.example", DNS_A, bytes);

        for (size_t cut = 0; cut < len; cut++)
                assert_int_equal(send(b->asks, bytes, cut, 0), cut);
        for (int i = 0; i < 8; i++)
                names_serve(&b->n);
        while (recv(b->asks, answer, sizeof answer, MSG_DONTWAIT) > 0)
                assert_int_equal(answer[3] & 15, DNS_FORMERR);
        assert_int_equal(names_tell(&b->n, true), 0);
        assert_false(hear(b, &d));
        assert_int_equal(ask(b, "a.example", DNS_A), DNS_NXDOMAIN);
}

/* The same name repeated gives few reports, and in the end the total number. */
static void
a_flood_is_counted(void **state)
{
        struct bench *b = *state;
        struct wire_wall_denied d;
        unsigned reports = 0, sum = 0;

        for (int i = 0; i < 100; i++) {
                assert_int_equal(ask(b, "a.example", DNS_A), DNS_NXDOMAIN);
                assert_int_equal(names_tell(&b->n, false), 0);
                while (hear(b, &d)) {
                        reports++;
                        sum += d.count;
                }
        }
        assert_true(reports <= 100 / 4);
        assert_int_equal(names_tell(&b->n, true), 0);
        while (hear(b, &d))
                sum += d.count;
        assert_int_equal(sum, 100);
        assert_int_equal(names_wait_ms(&b->n), -1);
}

/* More different names than are kept in a second: each gets an answer. */
static void
many_names_are_answered(void **state)
{
        struct bench *b = *state;
        char name[64];

        for (int i = 0; i < 4 * NAMES_KINDS; i++) {
                struct wire_wall_denied d;

                (void)snprintf(name, sizeof name, "n%d.example", i);
                assert_int_equal(ask(b, name, DNS_A), DNS_NXDOMAIN);
                assert_int_equal(names_tell(&b->n, false), 0);
                while (hear(b, &d))
                        continue;
        }
        assert_true(b->n.count <= NAMES_KINDS);
}

/* A box that does not read blocks no query, and receives all reports later. */
static void
a_box_that_does_not_read_is_waited_for(void **state)
{
        struct bench *b = *state;
        struct wire_wall_denied d;
        uint8_t bytes[NAMES_QUESTION_MAX];
        int room = 4096, asked = 0, heard = 0;

        assert_int_equal(setsockopt(b->n.control, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
        for (; !b->n.is_due && asked < NAMES_KINDS; asked++) {
                char name[64];

                (void)snprintf(name, sizeof name, "n%d.example", asked);
                assert_int_equal(ask(b, name, DNS_A), DNS_NXDOMAIN);
                assert_int_equal(names_tell(&b->n, true), 0);
        }
        assert_true(b->n.is_due);
        assert_true(send(b->asks, bytes, write_question("later.example", DNS_A, bytes), 0) > 0);
        names_serve(&b->n);
        assert_true(recv(b->asks, bytes, sizeof bytes, MSG_DONTWAIT) < 0);
        while (b->n.is_due || hear(b, &d)) {
                while (hear(b, &d))
                        heard++;
                heard += b->n.is_due ? 0 : 1;
                assert_int_equal(names_tell(&b->n, true), 0);
        }
        names_serve(&b->n);
        assert_true(recv(b->asks, bytes, sizeof bytes, MSG_DONTWAIT) > 0);
        (void)heard;
}

static void
what_the_kernel_counts_is_read(void **state)
{
        static const char snmp[] = "Ip: Forwarding DefaultTTL OutNoRoutes ReasmTimeout\nIp: 2 64 7 "
                                   "9\nIcmp: InMsgs\nIcmp: 3\n";
        static const char snmp6[] = "Ip6InReceives                   \t0\nIp6OutNoRoutes           "
                                    "       \t5\nIp6ReasmTimeout                 \t0\n";

        (void)state;
        assert_int_equal(names_unroutable(snmp, snmp6), 12);
        assert_int_equal(names_unroutable("", ""), 0);
        assert_int_equal(names_unroutable("Ip: A OutNoRoutes\nIp: 1", ""), 0);
        assert_int_equal(names_unroutable("Ip: A OutNoRoutes", snmp6), 5);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(no_name_exists_and_each_is_reported, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(only_questions_for_addresses_are_reported, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_invalid_host_name_is_reported, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(what_is_malformed_is_answered_and_not_reported,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_flood_is_counted, set_up, tear_down),
                cmocka_unit_test_setup_teardown(many_names_are_answered, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_box_that_does_not_read_is_waited_for, set_up,
                                                tear_down),
                cmocka_unit_test(what_the_kernel_counts_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
