/* run/stream_test.c - what run/stream.h promises. */
#include "base/unit.h"
#include "run/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 10000, BIG = 300000 };

struct ends {
        int in, out;
}; /* written to, read from */

static struct ends
pipe_open(void)
{
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
        return (struct ends){ fds[1], fds[0] };
}

static struct ends
socket_open(void)
{
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        return (struct ends){ fds[1], fds[0] };
}

static struct ends
file_open(void)
{
        char path[] = "/tmp/stream-test-XXXXXX";
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        (void)unlink(path);
        return (struct ends){ fd, -1 };
}

static void
ends_close(struct ends *e)
{
        if (e->in >= 0)
                (void)close(e->in);
        if (e->out >= 0)
                (void)close(e->out);
        e->in = e->out = -1;
}

/* Polls once without waiting and moves once. False if nothing was possible. */
static bool
turn(struct stream *s, int *ret_result)
{
        struct pollfd fds[2];
        size_t count = stream_poll(s, fds);

        *ret_result = 0;
        if (poll(fds, count, 0) <= 0)
                return false;
        *ret_result = stream_move(s, fds, count);
        return true;
}

static int
turns(struct stream *s)
{
        int result = 0;

        for (int i = 0; i < TURNS_MAX && result == 0 && turn(s, &result); i++)
                continue;
        return result;
}

static void
put(int fd, const char *bytes, size_t len)
{
        assert_int_equal(write(fd, bytes, len), len);
}

/* -- every kind of sink ------------------------------------------------------------------------ */

struct sink_row {
        const char *what;
        struct ends (*open)(void);
        enum stream_sink sink;
};

static const struct sink_row sinks[] = {
        { "pipe", pipe_open, STREAM_PIPE },
        { "socket", socket_open, STREAM_SOCKET },
        { "file", file_open, STREAM_FILE },
};

static size_t
drain_to(const struct ends *to, char *out, size_t room)
{
        ssize_t got;

        if (to->out < 0)
                got = pread(to->in, out, room, 0);
        else
                got = to->out >= 0 ? recv(to->out, out, room, MSG_DONTWAIT) : 0;
        if (got < 0 && errno == ENOTSOCK)
                got = read(to->out, out, room);
        return got > 0 ? (size_t)got : 0;
}

static void
every_sink_gets_every_byte(void **state)
{
        static char sent[BIG], got[BIG + 1];

        (void)state;
        for (size_t i = 0; i < sizeof sent; i++)
                sent[i] = (char)(i * 31 >> 3);
        for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
                struct ends from = pipe_open(), to = sinks[i].open();
                struct stream s;
                size_t put_len = 0, got_len = 0;

                assert_int_equal(fcntl(from.in, F_SETFL, O_NONBLOCK), 0);
                stream_init(&s, from.out, to.in);
                assert_int_equal(s.sink, sinks[i].sink);
                while (!stream_is_over(&s) || got_len < sizeof sent) {
                        ssize_t n = put_len < sizeof sent
                                            ? write(from.in, sent + put_len, sizeof sent - put_len)
                                            : 0;

                        put_len += n > 0 ? (size_t)n : 0;
                        if (put_len == sizeof sent && from.in >= 0) {
                                (void)close(from.in);
                                from.in = -1;
                        }
                        if (turns(&s) < 0)
                                fail_msg("%s: lost its reader", sinks[i].what);
                        if (to.out < 0)
                                got_len = drain_to(&to, got, sizeof got);
                        else
                                got_len += drain_to(&to, got + got_len, sizeof got - got_len);
                }
                assert_int_equal(got_len, sizeof sent);
                assert_memory_equal(got, sent, sizeof sent);
                assert_int_equal(s.bytes, sizeof sent);
                assert_int_equal(s.dropped, 0);
                stream_fini(&s);
                ends_close(&from);
                ends_close(&to);
        }
}

/* A reader that reads nothing blocks no process: the calls return, and the alarm never fires. */
static void
a_slow_reader_never_blocks(void **state)
{
        static char bytes[65536];

        (void)state;
        (void)alarm(120);
        for (size_t i = 0; i < 2; i++) {
                struct ends from = pipe_open(), to = sinks[i].open();
                struct stream s;
                size_t put_len = 0;

                assert_int_equal(fcntl(from.in, F_SETFL, O_NONBLOCK), 0);
                stream_init(&s, from.out, to.in);
                for (int round = 0; round < 100; round++) {
                        ssize_t n = write(from.in, bytes, sizeof bytes);

                        put_len += n > 0 ? (size_t)n : 0;
                        assert_int_equal(turns(&s), 0);
                }
                assert_true(put_len > 0 && s.bytes > 0 && s.bytes < 100 * sizeof bytes);
                assert_false(stream_is_over(&s));
                /* the flags of the caller's descriptor are unchanged */
                assert_true((fcntl(to.in, F_GETFL) & O_NONBLOCK) == 0);
                stream_fini(&s);
                ends_close(&from);
                ends_close(&to);
        }
        (void)alarm(0);
}

static void
a_reader_that_is_gone_closes_the_source(void **state)
{
        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct ends from = pipe_open(), to = sinks[i].open();
                struct stream s;

                stream_init(&s, from.out, to.in);
                s.owns_from = true;
                (void)close(to.out);
                to.out = -1;
                put(from.in, "abc", 3);
                if (turns(&s) != -1)
                        fail_msg("%s: nobody noticed", sinks[i].what);
                assert_true(stream_is_over(&s));
                assert_int_equal(s.error, 0);
                assert_int_equal(write(from.in, "x", 1), -1);
                assert_int_equal(errno, EPIPE);
                stream_fini(&s);
                from.out = -1;
                ends_close(&from);
                ends_close(&to);
        }
}

/* A closed reader is the caller's choice, but a full disk must be reported. */
static void
a_failed_write_is_reported(void **state)
{
        struct ends from = pipe_open();
        int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        struct stream s;

        (void)state;
        assert_true(full >= 0);
        stream_init(&s, from.out, full);
        put(from.in, "abc", 3);
        assert_int_equal(turns(&s), -1);
        assert_int_equal(s.error, ENOSPC);
        stream_fini(&s);
        (void)close(full);
        ends_close(&from);
}

/* -- budget and capture ------------------------------------------------------------------------ */

static void
the_budget_is_shared_and_the_rest_counted(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
                struct ends from = pipe_open(), to = sinks[i].open(), other = pipe_open();
                uint64_t budget = 10;
                struct stream s, t;
                char got[64];

                stream_init(&s, from.out, to.in);
                stream_init_capture(&t, other.out, 100);
                s.budget = t.budget = &budget;
                put(from.in, "0123456", 7);
                assert_int_equal(turns(&s), 0);
                put(other.in, "abcdef", 6);
                assert_int_equal(turns(&t), 0);
                put(from.in, "789", 3);
                assert_int_equal(turns(&s), 0);
                assert_int_equal(drain_to(&to, got, sizeof got), 7);
                assert_memory_equal(got, "0123456", 7);
                assert_int_equal(t.captured_len, 3);
                assert_memory_equal(t.captured, "abc", 3);
                assert_true(s.bytes == 10 && s.dropped == 3 && t.bytes == 6 && t.dropped == 3 &&
                            budget == 0);
                stream_fini(&s);
                stream_fini(&t);
                ends_close(&from);
                ends_close(&to);
                ends_close(&other);
        }
}

static void
a_capture_keeps_so_much_and_counts_the_rest(void **state)
{
        static const size_t sizes[] = { 0, 1, 9, 10, 11, 200 };

        (void)state;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct ends from = pipe_open();
                struct stream s;

                stream_init_capture(&s, from.out, 10);
                for (size_t n = 0; n < sizes[i]; n++) {
                        put(from.in, "x", 1);
                        if (n % 3 == 0)
                                assert_int_equal(turns(&s), 0);
                }
                (void)close(from.in);
                from.in = -1;
                assert_int_equal(turns(&s), 0);
                assert_true(stream_is_over(&s));
                assert_int_equal(s.captured_len, sizes[i] < 10 ? sizes[i] : 10);
                assert_int_equal(s.dropped, sizes[i] < 10 ? 0 : sizes[i] - 10);
                stream_fini(&s);
                ends_close(&from);
        }
}

/* -- escapes ----------------------------------------------------------------------------------- */

struct escape_row {
        const char *in;
        size_t len;
        const char *out;
};

#define ROW(in, out)                   \
        {                              \
                in, sizeof in - 1, out \
        }

static const struct escape_row escapes[] = {
        ROW("plain\ttext\n", "plain\ttext\n"),
        ROW("dos\r\nline", "dos\r\nline"),
        ROW("bare\rreturn", "bare^Mreturn"),
        ROW("ends in\r", "ends in^M"),
        ROW("\033[2J", "^[[2J"),
        ROW("\033]0;title\a", "^[]0;title^G"),
        ROW("\b\v\f\0"
            "a",
            "^H^K^L^@a"),
        ROW("\x7f", "^?"),
        ROW("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
        ROW("\xe2\x80\x93", "\xe2\x80\x93"), /* its second and third bytes are not C1 controls */
        ROW("\xc2\x9b"
            "31m",
            "\\x9b"
            "31m"), /* C1 in UTF-8 */
        ROW("\x9b"
            "31m",
            "\\x9b"
            "31m"), /* C1 alone */
        ROW("\xff\x9b"
            "31m",
            "\\xff\\x9b"
            "31m"), /* C1 after an invalid byte */
        ROW("\xc3\xa9\x9b"
            "31m",
            "\xc3\xa9\\x9b"
            "31m"),
        ROW("\xe2\x9b"
            "31m",
            "\\xe2\\x9b"
            "31m"), /* C1 inside an incomplete character */
        ROW("\xc2\xa0", "\xc2\xa0"),
        ROW("cut \xe2\x82", "cut \\xe2\\x82"),
        ROW("\xed\xa0\x80", "\\xed\\xa0\\x80"), /* a surrogate */
};

static void
escape_in_pieces(const struct escape_row *row, size_t first, size_t second)
{
        struct ends from = pipe_open(), to = file_open();
        char got[256] = "";
        struct stream s;
        size_t len;

        stream_init(&s, from.out, to.in);
        s.escapes = true;
        for (size_t at = 0, n; at < row->len; at += n) {
                n = at == 0 ? first : at == first ? second : row->len;
                n = n < row->len - at ? n : row->len - at;
                put(from.in, row->in + at, n);
                assert_int_equal(turns(&s), 0);
        }
        (void)close(from.in);
        from.in = -1;
        for (int i = 0; i < 4 && !stream_is_over(&s); i++)
                assert_int_equal(turns(&s), 0);
        assert_true(stream_is_over(&s));
        len = drain_to(&to, got, sizeof got);
        if (len != strlen(row->out) || memcmp(got, row->out, len) != 0)
                fail_msg("%s, cut after %zu and %zu: %s", row->out, first, second, got);
        stream_fini(&s);
        ends_close(&from);
        ends_close(&to);
}

static void
control_bytes_become_visible_however_they_are_cut(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
                for (size_t first = 1; first <= escapes[i].len; first++)
                        for (size_t second = 1; second <= 3; second++)
                                escape_in_pieces(&escapes[i], first, second);
}

/* The worst case fills the buffer to its last byte. A sanitizer reports one byte more. */
static void
the_longest_escapes_fit(void **state)
{
        static char bytes[STREAM_BUFFER / 4];
        struct ends from = pipe_open(), to = file_open();
        struct stream s;

        (void)state;
        memset(bytes, 0xff, sizeof bytes);
        stream_init(&s, from.out, to.in);
        s.escapes = true;
        put(from.in, bytes, sizeof bytes);
        (void)close(from.in);
        from.in = -1;
        assert_int_equal(turns(&s), 0);
        assert_true(stream_is_over(&s));
        assert_int_equal(lseek(to.in, 0, SEEK_END), STREAM_BUFFER);
        stream_fini(&s);
        ends_close(&from);
        ends_close(&to);
}

static void
a_stream_that_was_only_zeroed_can_be_ended(void **state)
{
        struct stream s = { .from = -1, .to = -1 };

        (void)state;
        assert_true(stream_is_over(&s));
        stream_fini(&s);
        stream_fini(&s);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_sink_gets_every_byte),
                cmocka_unit_test(a_slow_reader_never_blocks),
                cmocka_unit_test(a_reader_that_is_gone_closes_the_source),
                cmocka_unit_test(a_failed_write_is_reported),
                cmocka_unit_test(the_budget_is_shared_and_the_rest_counted),
                cmocka_unit_test(a_capture_keeps_so_much_and_counts_the_rest),
                cmocka_unit_test(control_bytes_become_visible_however_they_are_cut),
                cmocka_unit_test(the_longest_escapes_fit),
                cmocka_unit_test(a_stream_that_was_only_zeroed_can_be_ended),
        };

        (void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
