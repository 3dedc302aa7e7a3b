/*
 * keeper/peer_test.c - promises of sending without blocking: order, bounds, every descriptor is
 * closed.
 */
#include "keeper/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"

static int heard;

static void
on_ready(struct peer *p, uint32_t events)
{
        heard++;
}

struct rig {
        struct loop *loop;
        struct peer peer;
        int other;
};

static void
begin(struct rig *r)
{
        int pair[2];

        heard = 0;
        assert_int_equal(loop_new(&r->loop), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(peer_open(&r->peer, r->loop, pair[0], on_ready), 0);
        r->other = pair[1];
}

static void
finish(struct rig *r)
{
        peer_close(&r->peer);
        loop_free(r->loop);
        (void)close(r->other);
}

static int
receive(struct rig *r, uint64_t *ret)
{
        struct wire_message m;
        int result = wire_receive(r->other, 0, &m, ret, sizeof *ret);

        if (result > 0)
                wire_message_close(&m);
        return result;
}

static void
what_does_not_fit_waits_and_keeps_its_order(void **state)
{
        struct rig r;
        uint64_t got = 0, want = 0, sent = 0;

        begin(&r);
        for (; r.peer.queue.count < 50; sent++)
                assert_int_equal(peer_send(&r.peer, WIRE_CALL, &sent, sizeof sent, NULL, 0), 0);
        for (; want < sent; want++) {
                while (receive(&r, &got) == -EAGAIN)
                        loop_turn(r.loop);
                assert_int_equal(got, want);
        }
        assert_int_equal(r.peer.queue.count, 0);
        assert_int_equal(r.peer.queue.bytes, 0);
        finish(&r);
}

static void
a_peer_that_does_not_read_is_closed_at_a_bound(void **state)
{
        static const char big[64 * 1024];
        struct rig r;
        int sent = 0;

        begin(&r);
        peer_set_private(&r.peer);
        while (peer_send(&r.peer, WIRE_CALL, big, sizeof big, NULL, 0) == 0)
                sent++;
        assert_true(r.peer.is_broken);
        assert_true(r.peer.queue.bytes <= PEER_QUEUE_BYTES &&
                    sent >= PEER_QUEUE_BYTES / (int)sizeof big);
        assert_int_equal(peer_send(&r.peer, WIRE_CALL, big, 1, NULL, 0), -1);
        finish(&r);
}

static int drained;

static void
on_drained(struct peer *p)
{
        assert_true(peer_is_idle(p));
        drained++;
}

/* Q1 */
static void
a_shared_link_is_full_and_lives(void **state)
{
        static const char big[64 * 1024];
        static _Alignas(8) char got[sizeof big];
        struct wire_message m;
        struct rig r;
        int sent = 0, count = 0;

        begin(&r);
        drained = 0;
        r.peer.drained = on_drained;
        for (; r.peer.queue.bytes <= 2 * PEER_QUEUE_BYTES; sent++)
                assert_int_equal(peer_send(&r.peer, WIRE_CALL, big, sizeof big, NULL, 0), 0);
        assert_true(peer_is_full(&r.peer) && !peer_is_idle(&r.peer) && !r.peer.is_broken);
        peer_hear(&r.peer, false);
        assert_int_equal(wire_send(r.other, WIRE_CALL, NULL, 0, NULL, 0), 0);
        while (count < sent) {
                while (wire_receive(r.other, 0, &m, got, sizeof got) > 0)
                        count++;
                if (count < sent)
                        loop_turn(r.loop);
                assert_int_equal(heard, 0);
        }
        assert_int_equal(drained, 1);
        assert_true(!peer_is_full(&r.peer) && peer_is_idle(&r.peer));
        peer_hear(&r.peer, true);
        loop_turn(r.loop);
        assert_int_equal(heard, 1);
        finish(&r);
}

/* Called once, also if nothing is queued. */
static void
a_turn_that_is_wanted_comes_from_the_loop(void **state)
{
        struct rig r;

        begin(&r);
        drained = 0;
        r.peer.drained = on_drained;
        peer_want(&r.peer);
        assert_int_equal(drained, 0);
        loop_turn(r.loop);
        assert_int_equal(drained, 1);
        (void)shutdown(r.other, SHUT_RDWR);
        loop_turn(r.loop);
        assert_int_equal(drained, 1);
        finish(&r);
}

static void
descriptors_are_taken_whatever_becomes_of_them(void **state)
{
        struct rig r;
        int fds[3], i;

        begin(&r);
        fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(peer_send(&r.peer, WIRE_CALL, NULL, 0, &fds[0], 1), 0); /* sent */
        for (i = 0; r.peer.queue.count == 0; i++)
                assert_int_equal(peer_send(&r.peer, WIRE_CALL, &i, sizeof i, NULL, 0), 0);
        fds[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(peer_send(&r.peer, WIRE_CALL, NULL, 0, &fds[1], 1), 0); /* queued */
        peer_close(&r.peer);
        fds[2] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        assert_int_equal(peer_send(&r.peer, WIRE_CALL, NULL, 0, &fds[2], 1), -1); /* refused */
        for (i = 0; i < 3; i++)
                assert_int_equal(fcntl(fds[i], F_GETFD), -1);
        finish(&r);
}

static void
the_other_sides_end_is_noticed(void **state)
{
        struct rig r;

        begin(&r);
        (void)shutdown(r.other, SHUT_RDWR);
        loop_turn(r.loop);
        assert_true(heard > 0);
        assert_int_equal(peer_send(&r.peer, WIRE_CALL, NULL, 0, NULL, 0), -1);
        assert_true(r.peer.is_broken);
        finish(&r);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_does_not_fit_waits_and_keeps_its_order),
                cmocka_unit_test(a_peer_that_does_not_read_is_closed_at_a_bound),
                cmocka_unit_test(descriptors_are_taken_whatever_becomes_of_them),
                cmocka_unit_test(a_shared_link_is_full_and_lives),
                cmocka_unit_test(a_turn_that_is_wanted_comes_from_the_loop),
                cmocka_unit_test(the_other_sides_end_is_noticed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
