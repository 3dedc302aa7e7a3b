/*
 * wire/channel_test.c - a stream of frames arrives unchanged, however it is split; a malformed
 * frame is refused at once.
 */
#include "wire/channel.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/message.h"

struct stream {
        unsigned char bytes[4096];
        size_t len;
};

static void
add(struct stream *s, uint32_t kind, const void *body, size_t len, uint64_t offset)
{
        struct channel_frame head = channel_head(kind, len, offset);

        memcpy(s->bytes + s->len, &head, sizeof head);
        if (len > 0)
                memcpy(s->bytes + s->len + sizeof head, body, len);
        s->len += sizeof head + len;
}

static struct stream
sample(void)
{
        static const struct channel_started started = { 7, 42 };
        static const struct channel_end end = { .exit_code = 3, .stdout_bytes = 9 };
        struct stream s = { .len = 0 };

        add(&s, CHANNEL_STARTED, &started, sizeof started, 0);
        add(&s, CHANNEL_STDOUT, "hello", 5, 0);
        add(&s, CHANNEL_STDERR, "", 0, 4);
        add(&s, CHANNEL_STDERR, "no", 2, 4);
        add(&s, CHANNEL_STDOUT, "bye", 3, 9);
        add(&s, CHANNEL_END, &end, sizeof end, 0);
        return s;
}

/* What a reader got from a stream, as text. */
struct seen {
        char out[64], err[64];
        uint64_t out_end, err_end;
        int started, ended;
};

static void
see(struct seen *s, const struct channel_piece *p)
{
        if (p->kind == CHANNEL_STDOUT || p->kind == CHANNEL_STDERR) {
                (void)strncat(p->kind == CHANNEL_STDOUT ? s->out : s->err, p->bytes, p->len);
                *(p->kind == CHANNEL_STDOUT ? &s->out_end : &s->err_end) = p->offset + p->len;
        } else if (p->kind == CHANNEL_STARTED) {
                s->started = ((const struct channel_started *)p->bytes)->pid;
        } else if (p->kind == CHANNEL_END) {
                s->ended = ((const struct channel_end *)p->bytes)->exit_code;
        }
}

static int
feed(struct channel_reader *r, struct seen *s, const unsigned char *bytes, size_t len)
{
        struct channel_piece p;
        int got;

        while ((got = channel_reader_next(r, &bytes, &len, &p)) > 0)
                see(s, &p);
        if (got == 0)
                assert_int_equal(len, 0);
        return got;
}

static void
any_cut_gives_the_same(void **state)
{
        struct stream s = sample();

        for (size_t step = 1; step <= s.len; step++) {
                struct channel_reader r;
                struct seen seen = { .started = 0 };

                channel_reader_init(&r, CHANNEL_FROM_BOX);
                for (size_t at = 0; at < s.len; at += step)
                        assert_int_equal(feed(&r, &seen, s.bytes + at,
                                              s.len - at < step ? s.len - at : step),
                                         0);
                assert_string_equal(seen.out, "hellobye");
                assert_string_equal(seen.err, "no");
                assert_int_equal(seen.out_end, 12);
                assert_int_equal(seen.err_end, 6);
                assert_int_equal(seen.started, 42);
                assert_int_equal(seen.ended, 3);
                assert_true(channel_reader_is_between(&r));
        }
}

static void
a_stream_cut_short_is_seen(void **state)
{
        struct stream s = sample();
        struct channel_reader r;
        struct seen seen = { .started = 0 };

        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(feed(&r, &seen, s.bytes, s.len - 1), 0);
        assert_false(channel_reader_is_between(&r));
        assert_int_equal(seen.ended, 0);
}

static void
malformed_frames_are_refused(void **state)
{
        static const struct {
                const char *name;
                enum channel_side side;
                struct channel_frame head;
        } cases[] = {
                { "kind 0", CHANNEL_FROM_BOX, { 0, 0, 0 } },
                { "unknown kind", CHANNEL_FROM_BOX, { CHANNEL_KIND_MAX, 0, 0 } },
                { "huge kind", CHANNEL_FROM_BOX, { UINT32_MAX, 0, 0 } },
                { "stdin from a box", CHANNEL_FROM_BOX, { CHANNEL_STDIN, 1, 0 } },
                { "output to a box", CHANNEL_TO_BOX, { CHANNEL_STDOUT, 1, 0 } },
                { "too long", CHANNEL_FROM_BOX, { CHANNEL_STDOUT, CHANNEL_FRAME_MAX + 1, 0 } },
                { "a start of another size",
                  CHANNEL_FROM_BOX,
                  { CHANNEL_STARTED, sizeof(struct channel_started) + 1, 0 } },
                { "an end of another size",
                  CHANNEL_FROM_BOX,
                  { CHANNEL_END, sizeof(struct channel_end) - 8, 0 } },
                { "an offset that wraps", CHANNEL_FROM_BOX, { CHANNEL_STDOUT, 2, UINT64_MAX - 1 } },
                { "an offset on a start",
                  CHANNEL_FROM_BOX,
                  { CHANNEL_STARTED, sizeof(struct channel_started), 1 } },
                { "a signal without number", CHANNEL_TO_BOX, { CHANNEL_SIGNAL, 0, 0 } },
                { "an end of input with bytes", CHANNEL_TO_BOX, { CHANNEL_STDIN_END, 1, 0 } },
        };

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct channel_reader r;
                struct channel_piece p;
                const unsigned char *at = (const unsigned char *)&cases[i].head;
                size_t len = sizeof cases[i].head;

                channel_reader_init(&r, cases[i].side);
                if (channel_reader_next(&r, &at, &len, &p) != -EPROTO)
                        fail_msg("%s was taken", cases[i].name);
                len = 0;
                assert_int_equal(channel_reader_next(&r, &at, &len, &p), -EPROTO);
                assert_false(channel_reader_is_between(&r));
        }
}

/* An older box sends no more, and a newer one where nothing is removed from output. */
static void
a_short_end_has_zeros_behind_it(void **state)
{
        const struct channel_end long_end = { .exit_code = 5, .sanitized = { 7, 0, { 1, 2, 3 } } };
        struct channel_end got;
        struct channel_reader r;
        struct channel_piece p;

        for (int i = 0; i < 2; i++) {
                struct stream s = { .len = 0 };
                const unsigned char *at = s.bytes;

                add(&s, CHANNEL_END, &long_end,
                    i == 0 ? sizeof long_end : sizeof(struct channel_end_listed), 0);
                channel_reader_init(&r, CHANNEL_FROM_BOX);
                memset(r.fixed, 0xff, sizeof r.fixed);
                assert_int_equal(channel_reader_next(&r, &at, &s.len, &p), 1);
                assert_int_equal(p.len, sizeof got);
                memcpy(&got, p.bytes, sizeof got);
                assert_int_equal(got.exit_code, 5);
                assert_int_equal(got.sanitized.kinds, i == 0 ? 7 : 0);
                assert_int_equal(got.sanitized.counts[2], i == 0 ? 3 : 0);
        }
}

static void
no_byte_comes_twice_and_nothing_after_the_end(void **state)
{
        struct channel_end end = { .exit_code = 0 };
        struct wire_exec_failed failed = { 1, ENOENT, WIRE_STAGE_LOOKUP };
        struct channel_reader r;
        struct seen seen = { .started = 0 };
        struct stream s = { .len = 0 };

        add(&s, CHANNEL_STDOUT, "abc", 3, 10);
        add(&s, CHANNEL_STDOUT, "c", 1, 12);
        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(feed(&r, &seen, s.bytes, s.len), -EPROTO);

        s.len = 0;
        add(&s, CHANNEL_END, &end, sizeof end, 0);
        add(&s, CHANNEL_STDOUT, "x", 1, 0);
        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(feed(&r, &seen, s.bytes, s.len), -EPROTO);

        s.len = 0;
        add(&s, CHANNEL_FAILED, &failed, sizeof failed, 0);
        add(&s, CHANNEL_END, &end, sizeof end, 0);
        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(feed(&r, &seen, s.bytes, s.len), -EPROTO);
        assert_string_equal(seen.out, "abc");
}

/* -- over a socket ----------------------------------------------------------------------------- */

enum { LONG = CHANNEL_FRAME_MAX * 2 + 17 };
static unsigned char long_input[LONG], body[CHANNEL_FRAME_MAX];

static void *
send_long(void *socket)
{
        struct wire_number number = { 2 };
        int fd = *(int *)socket;
        long result = channel_send(fd, CHANNEL_STDIN, long_input, LONG, 0);

        if (result == 0)
                result = channel_send(fd, CHANNEL_SIGNAL, &number, sizeof number, 0);
        if (result == 0)
                result = channel_send(fd, CHANNEL_STDIN_END, NULL, 0, 0);
        (void)close(fd);
        return (void *)result;
}

static void
long_input_goes_in_several_frames(void **state)
{
        struct channel_reader r;
        struct channel_frame f;
        size_t got = 0;
        pthread_t thread;
        void *result;
        int ends[2];

        for (size_t i = 0; i < LONG; i++)
                long_input[i] = (unsigned char)(i * 31 >> 3);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(pthread_create(&thread, NULL, send_long, &ends[0]), 0);
        channel_reader_init(&r, CHANNEL_TO_BOX);
        while (got < LONG) {
                assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), 1);
                assert_int_equal(f.kind, CHANNEL_STDIN);
                assert_int_equal(f.offset, 0);
                assert_memory_equal(body, long_input + got, f.len);
                got += f.len;
        }
        assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), 1);
        assert_int_equal(f.kind, CHANNEL_SIGNAL);
        assert_int_equal(((struct wire_number *)(void *)body)->number, 2);
        assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), 1);
        assert_int_equal(f.kind, CHANNEL_STDIN_END);
        assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_null(result);
        (void)close(ends[1]);
}

static void
what_a_socket_sends_is_checked(void **state)
{
        struct channel_frame good = { CHANNEL_STDOUT, 100, 0 }, bad = { 99, 0, 0 };
        struct channel_reader r;
        struct channel_frame f;
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(write(ends[0], &good, sizeof good), sizeof good);
        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(channel_receive(ends[1], &r, &f, body, 99), -EMSGSIZE);
        assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), -EPROTO);

        assert_int_equal(write(ends[0], &bad, sizeof bad), sizeof bad);
        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), -EPROTO);

        assert_int_equal(write(ends[0], &good, sizeof good), sizeof good);
        (void)close(ends[0]);
        channel_reader_init(&r, CHANNEL_FROM_BOX);
        assert_int_equal(channel_receive(ends[1], &r, &f, body, sizeof body), -EPIPE);
        assert_int_equal(channel_send(ends[1], CHANNEL_STDIN, "x", 1, 0), -EPIPE);
        assert_int_equal(channel_send(ends[1], CHANNEL_SIGNAL, "x", 1, 0), -EINVAL);
        (void)close(ends[1]);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(any_cut_gives_the_same),
                cmocka_unit_test(a_stream_cut_short_is_seen),
                cmocka_unit_test(malformed_frames_are_refused),
                cmocka_unit_test(a_short_end_has_zeros_behind_it),
                cmocka_unit_test(no_byte_comes_twice_and_nothing_after_the_end),
                cmocka_unit_test(long_input_goes_in_several_frames),
                cmocka_unit_test(what_a_socket_sends_is_checked),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
