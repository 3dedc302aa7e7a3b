/* wire/flow_test.c - wire/flow.h: two ends over a socket pair; and an end that breaks the rules. */
#include "wire/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"

enum { ROUNDS = 4000, BIG = 1 << 20, EXEC = 7, OTHER = 8 };

struct end {
        struct flows flows;
        uint16_t kinds[64];
        size_t count;
        int is_later; /* so often a message is not taken */
};

static struct end relay, guest;
static int line[2];
static struct pollfd polled[FLOWS_POLL_MAX];

static int
hear(void *owner, uint16_t kind, void *body, size_t len)
{
        struct end *e = owner;

        (void)len;
        assert_int_equal((uintptr_t)body % 8, 0);
        if (e->is_later > 0) {
                e->is_later--;
                return 1;
        }
        if (e->count < sizeof e->kinds / sizeof *e->kinds)
                e->kinds[e->count++] = kind;
        return 0;
}

static int
set_up(void **state)
{
        (void)state;
        memset(&relay, 0, sizeof relay);
        memset(&guest, 0, sizeof guest);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, line) < 0)
                return -1;
        return flows_init(&relay.flows, STREAM_RELAY, line[0], hear, &relay) |
               flows_init(&guest.flows, STREAM_GUEST, line[1], hear, &guest);
}

static int
tear_down(void **state)
{
        (void)state;
        flows_fini(&relay.flows);
        flows_fini(&guest.flows);
        (void)close(line[0]);
        (void)close(line[1]);
        return 0;
}

static int
serve(struct end *e)
{
        size_t count = flows_poll(&e->flows, polled);

        if (poll(polled, count, 0) < 0)
                return -errno;
        return flows_serve(&e->flows, polled, count);
}

/* Both ends in turn. */
static void
rounds(int count)
{
        while (count-- > 0) {
                assert_int_equal(serve(&relay), 0);
                assert_int_equal(serve(&guest), 0);
        }
}

/* A pipe whose other end this test keeps, non-blocking. */
static int
ours(int ends[2], int which)
{
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(fcntl(ends[which], F_SETFL, O_NONBLOCK), 0);
        return ends[!which];
}

struct output {
        int inside[2], outside[2];
};

/* The output of a command: inside[1] is written, outside[0] is read. */
static void
open_output(struct output *o, uint32_t number)
{
        int from = ours(o->inside, 1), to = ours(o->outside, 0);

        assert_int_equal(flows_add(&guest.flows, STREAM_STDOUT, number, from, -1), 0);
        assert_int_equal(flows_add(&relay.flows, STREAM_STDOUT, number, -1, to), 0);
}

static void
close_output(struct output *o)
{
        if (o->inside[1] >= 0)
                (void)close(o->inside[1]);
        if (o->outside[0] >= 0)
                (void)close(o->outside[0]);
}

static size_t
drain(int fd)
{
        static char bytes[STREAM_WINDOW];
        size_t total = 0;
        ssize_t got;

        while ((got = read(fd, bytes, sizeof bytes)) > 0)
                total += (size_t)got;
        return total;
}

/* -- bytes ------------------------------------------------------------------------------------- */

static void
bytes_arrive_in_order(void **state)
{
        static uint8_t sent[BIG], got[BIG];
        size_t put_len = 0, got_len = 0;
        struct output o;

        (void)state;
        for (size_t i = 0; i < BIG; i++)
                sent[i] = (uint8_t)(i * 31 + i / 251);
        open_output(&o, EXEC);
        for (int i = 0; i < ROUNDS && got_len < BIG; i++) {
                ssize_t n = put_len < BIG ? write(o.inside[1], sent + put_len, BIG - put_len) : 0;

                put_len += n > 0 ? (size_t)n : 0;
                rounds(1);
                n = read(o.outside[0], got + got_len, BIG - got_len);
                got_len += n > 0 ? (size_t)n : 0;
        }
        assert_int_equal(got_len, BIG);
        assert_memory_equal(sent, got, BIG);
        (void)close(o.inside[1]);
        o.inside[1] = -1;
        rounds(4);
        assert_int_equal(read(o.outside[0], got, 1), 0); /* the end */
        assert_int_equal(guest.flows.count, 0);
        assert_int_equal(relay.flows.count, 0);
        close_output(&o);
}

static void
a_slow_reader_holds_up_nobody(void **state)
{
        static uint8_t bytes[STREAM_CHUNK];
        struct output slow, fast;
        size_t total = 0;

        (void)state;
        open_output(&slow, EXEC);
        open_output(&fast, OTHER);
        for (int i = 0; i < ROUNDS / 10; i++) {
                (void)!write(slow.inside[1], bytes, sizeof bytes);
                (void)!write(fast.inside[1], bytes, sizeof bytes);
                rounds(1);
                total += drain(fast.outside[0]);
        }
        assert_true(total > BIG);
        /* the slow one's bytes wait: in two pipes, and one window */
        assert_true(drain(slow.outside[0]) <= 65536);
        for (struct flow *w = relay.flows.first; w; w = w->next)
                assert_true(w->len <= STREAM_WINDOW);
        assert_true(relay.flows.out_len == 0);
        close_output(&slow);
        close_output(&fast);
}

static void
a_reader_that_leaves_is_told(void **state)
{
        struct output o;

        (void)state;
        open_output(&o, EXEC);
        (void)close(o.outside[0]);
        o.outside[0] = -1;
        rounds(4);
        assert_int_equal(write(o.inside[1], "x", 1), -1);
        assert_int_equal(errno, EPIPE);
        assert_int_equal(guest.flows.count, 0);
        assert_int_equal(relay.flows.count, 0);
        close_output(&o);
}

static void
a_port_ends_each_way_by_itself(void **state)
{
        int a[2], b[2];
        char c;

        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b), 0);
        assert_int_equal(flows_add(&relay.flows, STREAM_PORT, 3, a[1], a[1]), 0);
        assert_int_equal(flows_add(&guest.flows, STREAM_PORT, 3, b[1], b[1]), 0);
        assert_int_equal(write(a[0], "q", 1), 1);
        assert_int_equal(shutdown(a[0], SHUT_WR), 0);
        rounds(6);
        assert_int_equal(read(b[0], &c, 1), 1);
        assert_int_equal(read(b[0], &c, 1), 0);
        assert_int_equal(write(b[0], "r", 1), 1);
        rounds(6);
        assert_int_equal(read(a[0], &c, 1), 1);
        assert_int_equal(c, 'r');
        (void)close(b[0]);
        rounds(6);
        assert_int_equal(read(a[0], &c, 1), 0);
        (void)close(a[0]);
        rounds(6);
        assert_int_equal(relay.flows.count + guest.flows.count, 0);
        assert_int_equal(relay.flows.fds + guest.flows.fds, 0);
}

/* -- messages ---------------------------------------------------------------------------------- */

static void
a_message_that_is_not_taken_waits(void **state)
{
        struct wire_exec_number number = { EXEC, 1 };

        (void)state;
        guest.is_later = 3;
        assert_int_equal(flows_say(&relay.flows, WIRE_SIGNAL, &number, sizeof number), 0);
        assert_int_equal(flows_say(&relay.flows, WIRE_KILL_TREE, &number, sizeof number), 0);
        rounds(1);
        assert_int_equal(guest.count, 0);
        (void)flows_poll(&guest.flows, polled);
        assert_int_equal(polled[0].events & POLLIN, 0);
        rounds(4);
        assert_int_equal(guest.count, 2);
        assert_int_equal(guest.kinds[0], WIRE_SIGNAL);
        assert_int_equal(guest.kinds[1], WIRE_KILL_TREE);
}

static void
output_settles_before_the_end(void **state)
{
        static uint8_t bytes[STREAM_CHUNK];
        struct output o;
        size_t total = 0;

        (void)state;
        open_output(&o, EXEC);
        for (int i = 0; i < 3; i++)
                assert_int_equal(write(o.inside[1], bytes, sizeof bytes), sizeof bytes);
        flows_settle(&guest.flows, EXEC);
        assert_false(flows_is_settled(&guest.flows, EXEC));
        assert_true(flows_is_settled(&guest.flows, OTHER));
        for (int i = 0; i < ROUNDS && !flows_is_settled(&guest.flows, EXEC); i++)
                rounds(1);
        assert_true(flows_is_settled(&guest.flows, EXEC));
        rounds(2);
        total = drain(o.outside[0]);
        rounds(2);
        assert_true(flows_is_written(&relay.flows, EXEC));
        assert_int_equal(total + drain(o.outside[0]), 3 * sizeof bytes);
        close_output(&o);
}

/* -- an end that breaks the rules -------------------------------------------------------------- */

struct foreign_row {
        const char *what;
        struct stream_frame frame;
        size_t times;
        int result;
};

static const struct foreign_row foreign[] = {
        { "more than the window",
          { STREAM_DATA, STREAM_STDOUT, 0, EXEC, STREAM_CHUNK },
          10,
          -EPROTO },
        { "bytes of an unknown stream",
          { STREAM_DATA, STREAM_STDOUT, 0, OTHER, STREAM_CHUNK },
          10,
          0 },
        { "an end that is said twice", { STREAM_EOF, STREAM_STDOUT, 0, EXEC, 0 }, 2, 0 },
        { "credit past the window", { STREAM_CREDIT, STREAM_STDIN, 0, EXEC, 4 }, 1, -EPROTO },
        { "credit of an unknown stream", { STREAM_CREDIT, STREAM_STDIN, 0, OTHER, 4 }, 1, 0 },
        { "an unknown type", { STREAM_TYPE_MAX, 0, 0, 0, 0 }, 1, -EPROTO },
};

/* The reader of this stream never reads. */
static int
send_foreign(const struct foreign_row *row)
{
        static uint8_t frame[STREAM_HEAD + STREAM_CHUNK];
        int result = 0, in[2], out[2], from = ours(in, 1), to = ours(out, 0), big = 1 << 20;

        (void)setsockopt(line[1], SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
        assert_int_equal(flows_add(&relay.flows, STREAM_STDOUT, EXEC, -1, to), 0);
        assert_int_equal(flows_add(&relay.flows, STREAM_STDIN, EXEC, from, -1), 0);
        memset(frame, 1, sizeof frame);
        stream_frame_write(&row->frame, frame);
        rounds(1); /* the greetings */
        for (size_t i = 0; i < row->times && result == 0; i++) {
                assert_true(write(line[1], frame, STREAM_HEAD + row->frame.len) > 0);
                result = serve(&relay);
        }
        (void)close(in[1]);
        (void)close(out[0]);
        return result;
}

static void
foreign_bytes_are_refused(void **state)
{
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
                int result = send_foreign(&foreign[i]);

                if (result != foreign[i].result)
                        fail_msg("%s: %d, not %d", foreign[i].what, result, foreign[i].result);
                (void)tear_down(state);
                assert_int_equal(set_up(state), 0);
        }
}

static void
another_version_ends_the_connection(void **state)
{
        uint8_t bytes[STREAM_GREETING];

        (void)state;
        stream_greeting_write(bytes);
        bytes[8]++;
        assert_int_equal(write(line[1], bytes, sizeof bytes), sizeof bytes);
        assert_int_equal(serve(&relay), -EPROTONOSUPPORT);
}

static void
the_end_of_the_connection_is_told(void **state)
{
        (void)state;
        rounds(1);
        assert_int_equal(shutdown(line[1], SHUT_RDWR), 0);
        assert_int_equal(serve(&relay), -EPIPE);
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
        const struct CMUnitTest tests[] = {
                WITH_ENDS(bytes_arrive_in_order),
                WITH_ENDS(a_slow_reader_holds_up_nobody),
                WITH_ENDS(a_reader_that_leaves_is_told),
                WITH_ENDS(a_port_ends_each_way_by_itself),
                WITH_ENDS(a_message_that_is_not_taken_waits),
                WITH_ENDS(output_settles_before_the_end),
                WITH_ENDS(foreign_bytes_are_refused),
                WITH_ENDS(another_version_ends_the_connection),
                WITH_ENDS(the_end_of_the_connection_is_told),
        };

        (void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
