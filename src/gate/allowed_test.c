/*
 * gate/allowed_test.c - a destination is reported at once, repetitions as a number, and no number
 * of connections hides another destination.
 */
#include "gate/allowed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/gate.h"
#include "wire/message.h"

static struct allowed allowed;
static struct loop *loop;
static struct loop_watch gate_end;
static int box, no_diag = -1;

static int
begin(void **state)
{
        int ends[2];

        (void)state;
        assert_int_equal(
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        assert_int_equal(loop_new(&loop), 0);
        gate_end.fd = ends[0];
        box = ends[1];
        allowed_begin(&allowed, loop, &gate_end, &no_diag);
        return 0;
}

static int
finish(void **state)
{
        (void)state;
        allowed_end(&allowed);
        (void)close(gate_end.fd);
        (void)close(box);
        loop_free(loop);
        return 0;
}

static void
pass(const char *host, uint64_t out, uint64_t in)
{
        const struct allowed_connection c = { .host = host, .port = 443, .server = -1 };

        allowed_opened(&allowed, &c);
        allowed_closed(&allowed, &c, out, in, 1);
}

static bool
hear(struct wire_wall_allowed *ret)
{
        struct wire_message m;

        if (wire_receive(box, 0, &m, ret, sizeof *ret) != 1)
                return false;
        assert_int_equal(m.kind, WIRE_WALL_ALLOWED);
        assert_int_equal(m.len, sizeof *ret);
        return true;
}

static void
expect(const char *host, uint32_t is_end, uint32_t count, uint64_t out, uint64_t in)
{
        struct wire_wall_allowed a;

        assert_true(hear(&a));
        assert_string_equal(a.host, host);
        assert_int_equal(a.is_end, is_end);
        assert_int_equal(a.count, count);
        assert_int_equal(a.bytes_out, out);
        assert_int_equal(a.bytes_in, in);
}

static void
an_older_box_is_sent_nothing(void **state)
{
        struct wire_wall_allowed a;

        (void)state;
        pass("a.example", 1, 2);
        assert_false(hear(&a));
}

static void
a_box_asks_once(void **state)
{
        (void)state;
        assert_int_equal(allowed_hear(&allowed, 1), -EPROTO);
        assert_int_equal(allowed_hear(&allowed, 0), 0);
        assert_int_equal(allowed_hear(&allowed, 0), -EPROTO);
}

static void
repetitions_are_added_up(void **state)
{
        struct wire_wall_allowed a;

        (void)state;
        assert_int_equal(allowed_hear(&allowed, 0), 0);
        for (int i = 0; i < 1000; i++)
                pass("a.example", 10, 100);
        pass("b.example", 1, 2);
        expect("a.example", 0, 1, 0, 0);
        expect("a.example", 1, 1, 10, 100);
        expect("b.example", 0, 1, 0, 0);
        expect("b.example", 1, 1, 1, 2);
        assert_false(hear(&a));
        allowed_end(&allowed);
        expect("a.example", 0, 999, 0, 0);
        expect("a.example", 1, 999, 9990, 99900);
        assert_false(hear(&a));
}

static void
beyond_the_places_only_the_number_is_known(void **state)
{
        struct wire_wall_allowed a;
        char host[32];

        (void)state;
        assert_int_equal(allowed_hear(&allowed, 0), 0);
        for (int i = 0; i < ALLOWED_PLACES + 7; i++) {
                (void)snprintf(host, sizeof host, "n%d.example", i);
                pass(host, 1, 2);
                while (hear(&a))
                        assert_string_equal(a.host, host);
        }
        allowed_end(&allowed);
        expect("", 0, 7, 0, 0);
        expect("", 1, 7, 7, 14);
        assert_false(hear(&a));
}

static void
a_box_that_is_behind_loses_nothing(void **state)
{
        const struct wire_wall_allowed filler = { .count = 0 };
        struct wire_wall_allowed a;
        uint64_t count[ALLOWED_KINDS] = { 0 }, bytes = 0;
        char host[32];

        (void)state;
        assert_int_equal(allowed_hear(&allowed, 0), 0);
        while (wire_has_room(gate_end.fd))
                assert_int_equal(
                        wire_send(gate_end.fd, WIRE_WALL_ALLOWED, &filler, sizeof filler, NULL, 0),
                        0);
        for (int i = 0; i < 1000; i++) {
                (void)snprintf(host, sizeof host, "n%d.example", i % (2 * ALLOWED_PLACES));
                pass(host, 1, 2);
        }
        allowed_end(&allowed);
        while (hear(&a)) {
                count[a.is_end] += a.count;
                bytes += a.bytes_out + a.bytes_in;
        }
        assert_int_equal(count[0], 1000);
        assert_int_equal(count[1], 1000);
        assert_int_equal(bytes, 3000);
}

static void
a_full_link_delays_nothing_and_loses_nothing(void **state)
{
        const struct wire_wall_allowed filler = { .count = 1 };
        struct wire_wall_allowed a;

        (void)state;
        assert_int_equal(allowed_hear(&allowed, 0), 0);
        while (wire_send(gate_end.fd, WIRE_WALL_ALLOWED, &filler, sizeof filler, NULL, 0) == 0)
                continue;
        for (int i = 0; i < 5; i++)
                pass("a.example", 1, 1);
        while (hear(&a))
                assert_string_equal(a.host, "");
        allowed_end(&allowed);
        expect("a.example", 0, 5, 0, 0);
        expect("a.example", 1, 5, 5, 5);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_older_box_is_sent_nothing, begin, finish),
                cmocka_unit_test_setup_teardown(a_box_asks_once, begin, finish),
                cmocka_unit_test_setup_teardown(repetitions_are_added_up, begin, finish),
                cmocka_unit_test_setup_teardown(beyond_the_places_only_the_number_is_known, begin,
                                                finish),
                cmocka_unit_test_setup_teardown(a_box_that_is_behind_loses_nothing, begin, finish),
                cmocka_unit_test_setup_teardown(a_full_link_delays_nothing_and_loses_nothing, begin,
                                                finish),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
