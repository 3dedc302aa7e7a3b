/* wire/queue_test.c - wire/queue.h: everything in order, no blocking, no descriptor left open. */
#include "wire/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/message.h"

enum { LEN = 3000, BOUND = 16 << 20, FEW = 40 };

static int ours = -1, theirs = -1;
static struct wire_queue q;

static int
set_up(void **state)
{
        int pair[2];

        (void)state;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -1;
        ours = pair[0];
        theirs = pair[1];
        wire_queue_init(&q, ours, BOUND, 0);
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        wire_queue_fini(&q);
        (void)close(ours);
        (void)close(theirs);
        return 0;
}

static int
is_open(int fd)
{
        return fcntl(fd, F_GETFD) >= 0;
}

static int
send_number(uint32_t number)
{
        static _Alignas(8) unsigned char body[LEN];
        int copy = fcntl(theirs, F_DUPFD_CLOEXEC, 3), result;

        memcpy(body, &number, sizeof number);
        result = wire_queue_send(&q, WIRE_BOX_LISTED, body, sizeof body, &copy, 1);
        if (result < 0)
                assert_false(is_open(copy));
        return result;
}

static void
what_does_not_fit_waits_and_comes_in_order(void **state)
{
        static _Alignas(8) unsigned char body[LEN];
        uint32_t sent = 0, seen = 0, number;
        struct wire_message m;

        (void)state;
        while (!q.first)
                assert_int_equal(send_number(sent++), 0);
        for (int i = 0; i < 50; i++)
                assert_int_equal(send_number(sent++), 0);
        assert_true(q.bytes > 50 * LEN);
        while (wire_receive(theirs, 0, &m, body, sizeof body) == 1) {
                memcpy(&number, body, sizeof number);
                assert_int_equal(number, seen++);
                assert_true(m.len == LEN && m.fd_count == 1);
                wire_message_close(&m);
                assert_int_equal(wire_queue_flush(&q), 0);
        }
        assert_int_equal(seen, sent);
        assert_true(q.bytes == 0 && !q.first && !q.last);
}

static void
what_is_lent_stays_the_lenders(void **state)
{
        static _Alignas(8) unsigned char body[LEN];
        struct wire_message m;
        size_t sent = 0, seen = 0;

        (void)state;
        while (!q.first) {
                assert_int_equal(
                        wire_queue_lend(&q, WIRE_BOX_LISTED, body, sizeof body, &theirs, 1), 0);
                sent++;
        }
        assert_true(is_open(theirs));
        while (wire_receive(theirs, 0, &m, body, sizeof body) == 1) {
                assert_int_equal(m.fd_count, 1); /* also of messages that had to wait */
                wire_message_close(&m);
                assert_int_equal(wire_queue_flush(&q), 0);
                seen++;
        }
        assert_int_equal(seen, sent);
        assert_true(is_open(theirs));
}

static void
a_peer_that_never_reads_has_a_fixed_cost(void **state)
{
        int result = 0;

        (void)state;
        for (uint32_t i = 0; result == 0 && i < 2 * BOUND / LEN; i++)
                result = send_number(i);
        assert_int_equal(result, -ENOBUFS);
        assert_true(q.bytes <= BOUND + LEN);
}

static void
so_many_messages_wait_and_no_more(void **state)
{
        int result = 0;

        (void)state;
        q.count_max = FEW;
        for (uint32_t i = 0; result == 0; i++)
                result = send_number(i);
        assert_int_equal(result, -ENOBUFS);
        assert_int_equal(q.count, FEW);
        wire_queue_fini(&q);
        assert_true(q.count == 0 && q.bytes == 0);
        q.fd = -1;
        assert_int_equal(send_number(0), -EPIPE);
        q.fd = ours;
}

static void
a_closed_peer_is_distinguished(void **state)
{
        (void)state;
        while (!q.first)
                assert_int_equal(send_number(0), 0);
        (void)shutdown(theirs, SHUT_RDWR);
        assert_int_equal(wire_queue_flush(&q), -EPIPE);
        wire_queue_fini(&q);
        assert_int_equal(send_number(1), -EPIPE);
}

/*
 * As a user without privileges, who may have as many descriptors in transit as open ones: the rest
 * wait, and arrive.
 */
static int
sends_too_many(void)
{
        struct rlimit few = { 48, 48 };
        struct wire_message m;
        uint32_t number = 0;

        if ((geteuid() == 0 && setresuid(65533, 65533, 65533) < 0) ||
            setrlimit(RLIMIT_NOFILE, &few) < 0)
                return 1;
        for (int i = 0; i < 80; i++)
                if (wire_queue_lend(&q, WIRE_BOX_LISTED, &number, sizeof number, &theirs, 1) < 0)
                        return 2;
        if (!q.first)
                /* the kernel accepted all, so this proves nothing */
                return 3;
        for (int seen = 0; seen < 80; seen++) {
                if (wire_receive(theirs, 0, &m, &number, sizeof number) != 1 || m.fd_count != 1)
                        return 4;
                wire_message_close(&m);
                if (wire_queue_flush(&q) < 0)
                        return 5;
        }
        return q.first ? 6 : 0;
}

static void
too_many_descriptors_on_their_way_wait(void **state)
{
        pid_t child = fork();
        int status;

        if (child == 0)
                _exit(sends_too_many());
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3))
                fail_msg("status %x", (unsigned)status);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_does_not_fit_waits_and_comes_in_order, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(what_is_lent_stays_the_lenders, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_peer_that_never_reads_has_a_fixed_cost, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(so_many_messages_wait_and_no_more, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_closed_peer_is_distinguished, set_up, tear_down),
                cmocka_unit_test_setup_teardown(too_many_descriptors_on_their_way_wait, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
