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
#include "gate/gate.h"
#include "gate/wall.h"

enum { PIECE = 128 * 1024, MESSAGES_MOST = 256 };

#define MANY ((uint64_t)1 << 30)

static struct gate the_gate;
static struct wall the_wall;
static int box;

static int
begin(void **state)
{
        const struct wire_wall_counted none = { 0, 0 };
        int ends[2];

        (void)state;
        memset(&the_wall, 0, sizeof the_wall);
        memset(&the_gate, 0, sizeof the_gate);
        assert_int_equal(
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        assert_int_equal(loop_new(&the_gate.loop), 0);
        the_wall.gate = &the_gate;
        the_wall.link.fd = ends[0];
        the_wall.counted.settle.due_ms = LOOP_NEVER;
        box = ends[1];
        assert_int_equal(counted_hear(&the_wall, &none, sizeof none), 0);
        return 0;
}

static int
finish(void **state)
{
        (void)state;
        counted_end(&the_wall);
        (void)close(the_wall.link.fd);
        (void)close(box);
        loop_free(the_gate.loop);
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

        while (the_wall.bytes_in < MANY) {
                the_wall.bytes_in += PIECE;
                counted_more(&the_wall);
                messages += hear(&kept);
                assert_true(kept.bytes_in >= the_wall.bytes_in);
                assert_true(kept.bytes_in - the_wall.bytes_in <= most);
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
        the_wall.bytes_out = PIECE;
        counted_more(&the_wall);
        assert_true(hear(&kept));
        assert_int_equal(kept.bytes_out, PIECE + COUNTED_AHEAD_LEAST);
        assert_int_equal(kept.bytes_in, 0);
}

static void
a_cap_bounds_how_far_it_is_ahead(void **state)
{
        (void)state;
        the_wall.caps.bytes_in = (uint64_t)COUNTED_AHEAD_PART * PIECE;
        (void)pass(PIECE);
}

static void
the_end_sends_the_truth(void **state)
{
        struct wire_wall_counted kept = { 0, 0 };

        (void)state;
        (void)pass(COUNTED_AHEAD_MOST);
        counted_end(&the_wall);
        assert_true(hear(&kept));
        assert_int_equal(kept.bytes_in, the_wall.bytes_in);
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
