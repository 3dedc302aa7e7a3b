/*
 * gate/counted_test.c - the number that a box keeps is never too low, seldom sent, and not far
 * ahead.
 */
#include "gate/counted.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/message.h"

enum { PIECE = 128 * 1024, MESSAGES_MOST = 256 };

#define MANY ((uint64_t)1 << 30)

static struct counted counted;
static struct wire_gate_caps caps;
static struct loop *loop;
static struct loop_watch link_to_box;
static int box;

static int
begin(void **state)
{
        const struct wire_wall_counted none = { 0, 0 };
        int ends[2];

        (void)state;
        memset(&caps, 0, sizeof caps);
        assert_int_equal(
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        assert_int_equal(loop_new(&loop), 0);
        link_to_box.fd = ends[0];
        counted_begin(&counted, loop, &link_to_box, &caps);
        box = ends[1];
        assert_int_equal(counted_hear(&counted, &none, sizeof none), 0);
        return 0;
}

static int
finish(void **state)
{
        (void)state;
        counted_end(&counted);
        (void)close(link_to_box.fd);
        (void)close(box);
        loop_free(loop);
        return 0;
}

/* What the box was last sent, if it was sent something. */
static bool
hear(struct wire_wall_counted *ret)
{
        struct wire_message m;

        if (wire_receive(box, 0, &m, ret, sizeof *ret) != 1)
                return false;
        assert_int_equal(m.kind, WIRE_WALL_COUNTED);
        return true;
}

/* Lets 1 GiB in. Gives the number of messages; each is at most `most` ahead of what passed. */
static size_t
pass(uint64_t most)
{
        struct wire_wall_counted kept = { 0, 0 };
        size_t messages = 0;

        while (counted.in < MANY) {
                counted_add(&counted, false, PIECE);
                messages += hear(&kept);
                assert_true(kept.bytes_in >= counted.in);
                assert_true(kept.bytes_in - counted.in <= most);
        }
        assert_int_equal(kept.bytes_out, 0);
        return messages;
}

static void
a_long_transfer_sends_few_messages(void **state)
{
        (void)state;
        assert_true(pass(COUNTED_AHEAD_MOST) <= MESSAGES_MOST);
}

static void
a_short_transfer_is_counted_little_too_high(void **state)
{
        struct wire_wall_counted kept = { 0, 0 };

        (void)state;
        counted_add(&counted, true, PIECE);
        assert_true(hear(&kept));
        assert_int_equal(kept.bytes_out, PIECE + COUNTED_AHEAD_LEAST);
        assert_int_equal(kept.bytes_in, 0);
}

static void
a_cap_bounds_how_far_it_is_ahead(void **state)
{
        (void)state;
        caps.bytes_in = (uint64_t)COUNTED_AHEAD_PART * PIECE;
        (void)pass(PIECE);
}

static void
the_end_sends_the_truth(void **state)
{
        struct wire_wall_counted kept = { 0, 0 };

        (void)state;
        (void)pass(COUNTED_AHEAD_MOST);
        counted_end(&counted);
        assert_true(hear(&kept));
        assert_int_equal(kept.bytes_in, counted.in);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_long_transfer_sends_few_messages, begin, finish),
                cmocka_unit_test_setup_teardown(a_short_transfer_is_counted_little_too_high, begin,
                                                finish),
                cmocka_unit_test_setup_teardown(a_cap_bounds_how_far_it_is_ahead, begin, finish),
                cmocka_unit_test_setup_teardown(the_end_sends_the_truth, begin, finish),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
