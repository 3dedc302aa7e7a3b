/*
 * gate/tape_test.c - what passes becomes a transcript, however it is cut; and a stand-in replays
 * it.
 */
#include "gate/tape.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/unit.h"
#include "gate/stand_in.h"
#include "loop/loop.h"

enum { POLLS = 64, ROUNDS = 200, TURNS_MAX = 6, TURN_MAX = 3000 };

static struct loop *loop;

/* -- a recording ------------------------------------------------------------------------------- */

static int
begin(struct tape *t, bool is_again)
{
        int fd = memfd_create("tape", MFD_CLOEXEC);

        assert_true(fd >= 0);
        tape_begin(t, fcntl(fd, F_DUPFD_CLOEXEC, 0), false, is_again);
        return fd;
}

/* All of the file, with a NUL. Closes it. */
static struct buffer
text_of(int fd)
{
        struct buffer b = { 0 };
        char bytes[4096];
        ssize_t got;

        for (off_t at = 0; (got = pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
                assert_int_equal(buffer_add(&b, bytes, (size_t)got, TRANSCRIPT_MAX), 0);
        (void)close(fd);
        if (!b.bytes)
                abort(); /* nothing was written */
        return b;
}

struct turn {
        bool is_out;
        size_t len;
        char bytes[TURN_MAX];
};

static unsigned
less_than(unsigned most)
{
        static unsigned long long state = 88172645463325252ULL; /* xorshift64: the same each time */

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (unsigned)(state % most);
}

/* In pieces of any size. */
static void
pass(struct taped *c, const struct turn *turn, bool is_cut)
{
        size_t at = 0;

        while (at < turn->len) {
                size_t len = is_cut ? 1 + less_than((unsigned)(turn->len - at)) : turn->len;

                tape_passed(c, turn->is_out, turn->bytes + at, len);
                at += len;
        }
}

static struct buffer
record(const struct turn *turns, size_t count, bool is_cut)
{
        struct tape t;
        int fd = begin(&t, false);
        struct taped *c = tape_open(&t, "a.test", 80);

        for (size_t i = 0; i < count; i++)
                pass(c, &turns[i], is_cut);
        tape_over(c, true);
        tape_close(c);
        tape_end(&t);
        return text_of(fd);
}

static void
any_cut_gives_the_same_transcript(void **state)
{
        static struct turn turns[TURNS_MAX];

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                size_t count = 1 + less_than(TURNS_MAX);
                struct buffer whole, cut;

                for (size_t i = 0; i < count; i++) {
                        turns[i].is_out = (i + (size_t)round) % 2 == 0;
                        turns[i].len = 1 + less_than(TURN_MAX);
                        for (size_t k = 0; k < turns[i].len; k++)
                                turns[i].bytes[k] = (char)('!' + less_than(90));
                }
                whole = record(turns, count, false);
                cut = record(turns, count, true);
                assert_int_equal(whole.len, cut.len);
                assert_memory_equal(whole.bytes, cut.bytes, whole.len);
                buffer_fini(&whole);
                buffer_fini(&cut);
        }
}

static void
nothing_that_the_command_sends_is_written(void **state)
{
        const struct turn turn = { .is_out = true, .len = 6, .bytes = "secret" };
        struct buffer b = record(&turn, 1, false);

        (void)state;
        assert_null(strstr(b.bytes, "secret"));
        assert_non_null(strstr(b.bytes, "\nsent 1 6 "));
        buffer_fini(&b);
}

/* What a command sends first, or after an answer, so that nothing is kept of its connection. */
static void
keys_of_a_connection_end_it(void **state)
{
        static const struct {
                const char *sent;
                size_t len;
                const char *line;
        } cases[] = {
                { "\x16\x03\x01\x02", 4, "\nstop tls a.test 80\nend\n" },
                { "SSH-2.0-x\r\n", 11, "\nstop ssh a.test 80\nend\n" },
                { "\x16\x02xxx", 5, NULL },
                { "SSh-", 4, NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (int is_later = 0; is_later < 2; is_later++) {
                        struct tape t;
                        int fd = begin(&t, false);
                        struct taped *c = tape_open(&t, "a.test", 80);
                        struct buffer b;

                        if (is_later) {
                                tape_passed(c, true, "STARTTLS\n", 9);
                                tape_passed(c, false, "220\n", 4);
                        }
                        for (size_t k = 0; k < cases[i].len; k++)
                                tape_passed(c, true, cases[i].sent + k, 1);
                        tape_passed(c, false, "certificate", 11);
                        tape_close(c);
                        tape_end(&t);
                        b = text_of(fd);
                        assert_int_equal(!strstr(b.bytes, "certificate"), cases[i].line != NULL);
                        if (cases[i].line)
                                assert_non_null(strstr(b.bytes, cases[i].line));
                        buffer_fini(&b);
                }
}

static void
a_transcript_is_bounded(void **state)
{
        static char much[1 << 20];
        struct tape t;
        int fd = begin(&t, false);
        struct taped *first = tape_open(&t, "a.test", 80), *second = tape_open(&t, "b.test", 80);
        struct buffer b;

        (void)state;
        /* also what waits for the end of its turn counts */
        for (size_t i = 0; i < TRANSCRIPT_MAX / sizeof much + 1; i++)
                tape_passed(i % 2 == 0 ? first : second, false, much, sizeof much);
        tape_close(first);
        tape_close(second);
        tape_end(&t);
        b = text_of(fd);
        assert_true(b.len < TRANSCRIPT_MAX);
        assert_non_null(memmem(b.bytes, b.len, "\nstop too_large ", 16));
        buffer_fini(&b);
}

static void
connections_are_bounded(void **state)
{
        struct tape t;
        int fd = begin(&t, false);
        struct buffer b;

        (void)state;
        for (int i = 0; i < TRANSCRIPT_CONNECTIONS_MAX; i++)
                tape_failed(&t, "a.test", 80, DENIAL_UNREACHABLE);
        assert_false(t.is_stopped);
        assert_null(tape_open(&t, "a.test", 80));
        tape_end(&t);
        b = text_of(fd);
        assert_non_null(strstr(b.bytes, "\nstop too_many a.test 80\nend\n"));
        buffer_fini(&b);
}

static void
another_gate_cannot_go_on(void **state)
{
        struct tape t;
        int fd = begin(&t, true);
        struct buffer b;

        (void)state;
        assert_null(tape_open(&t, "a.test", 80));
        tape_end(&t);
        b = text_of(fd);
        assert_string_equal(b.bytes, "stop interrupted - 0\nend\n");
        buffer_fini(&b);
}

/* A file that cannot be written: the connection goes on, and the transcript has no last line. */
static void
a_file_that_fails_ends_nothing(void **state)
{
        struct tape t;
        struct taped *c;

        (void)state;
        tape_begin(&t, open("/dev/full", O_WRONLY | O_CLOEXEC), false, false);
        c = tape_open(&t, "a.test", 80);
        tape_passed(c, false, "x", 1);
        tape_over(c, false);
        tape_close(c);
        tape_end(&t);
        assert_int_equal(t.fd, -1);
}

/* -- a replay ---------------------------------------------------------------------------------- */

struct replay {
        struct tape tape;
        struct stand_in *s;
        int to, breaks; /* the transcript of the replay; how often broken() was called */
};

static void
broken(void *data)
{
        ((struct replay *)data)->breaks++;
}

static int
file_of(const char *text, size_t len)
{
        int fd = memfd_create("text", MFD_CLOEXEC);

        assert_int_equal(write(fd, text, len), len);
        return fd;
}

static void
replay_begin(struct replay *r, const struct turn *turns, size_t count)
{
        struct buffer b = record(turns, count, false);

        *r = (struct replay){ .to = memfd_create("to", MFD_CLOEXEC) };
        tape_begin(&r->tape, fcntl(r->to, F_DUPFD_CLOEXEC, 0), true, false);
        r->s = stand_in_new(file_of(b.bytes, b.len), loop, &r->tape);
        assert_non_null(r->s);
        buffer_fini(&b);
}

/* What the stand-in wrote. */
static struct buffer
replay_end(struct replay *r)
{
        stand_in_free(r->s);
        tape_end(&r->tape);
        return text_of(r->to);
}

/* An end that nobody closes is reported again and again. */
static void
turn_all(void)
{
        for (int i = 0; i < POLLS && loop_poll(loop) > 0; i++)
                continue;
}

static const struct turn ask = { true, 4, "ask\n" }, answer = { false, 7, "answer\n" },
                         thanks = { true, 7, "thanks\n" };

static void
the_same_is_answered_the_same(void **state)
{
        struct turn turns[3] = { ask, answer, thanks };
        struct player *p;
        struct replay r;
        struct buffer b;
        char bytes[64];
        int fd;

        (void)state;
        replay_begin(&r, turns, 3);
        assert_int_equal(stand_in_dial(r.s, "a.test", 80, broken, &r, &fd, &p), DENIAL_NONE);
        assert_int_equal(write(fd, "as", 2), 2);
        turn_all();
        assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), -1); /* not before all came */
        assert_int_equal(write(fd, "k\nthanks\n", 9), 9);
        turn_all();
        assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), 7);
        assert_memory_equal(bytes, "answer\n", 7);
        player_end(p);
        (void)close(fd);
        /* it was recorded once */
        assert_int_equal(stand_in_dial(r.s, "a.test", 80, broken, &r, &fd, &p), DENIAL_UNREACHABLE);
        assert_int_equal(stand_in_dial(r.s, "a.test", 81, broken, &r, &fd, &p), DENIAL_UNREACHABLE);
        b = replay_end(&r);
        assert_string_equal(b.bytes, TRANSCRIPT_FIRST_LINE
                            "replays 1 1\ndiffers 2 0 1 0 unexpected a.test 80\n"
                            "differs 3 0 1 0 unexpected a.test 81\nend\n");
        assert_int_equal(r.breaks, 0);
        buffer_fini(&b);
}

/* What the command sends instead, and the line about it. */
static void
something_else_is_told(void **state)
{
        static const struct {
                const char *first, *second;
                bool is_ended;
                const char *line;
        } cases[] = {
                { "Ask\n", NULL, false, "\ndiffers 1 1 1 0 bytes a.test 80\n" },
                { "as", NULL, true, "\ndiffers 1 1 1 0 ended a.test 80\n" },
                { "", NULL, true, "\ndiffers 1 1 1 0 ended a.test 80\n" },
                { "ask\n", "thankS\n", false, "\ndiffers 1 1 2 4 bytes a.test 80\n" },
                { "ask\n", "tha", true, "\ndiffers 1 1 2 4 ended a.test 80\n" },
                { "ask\n", "thanks\nx", false, "\ndiffers 1 1 3 11 more a.test 80\n" },
        };
        struct turn turns[3] = { ask, answer, thanks };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct player *p;
                struct replay r;
                struct buffer b;
                int fd;

                replay_begin(&r, turns, 3);
                assert_int_equal(stand_in_dial(r.s, "a.test", 80, broken, &r, &fd, &p),
                                 DENIAL_NONE);
                (void)!write(fd, cases[i].first, strlen(cases[i].first));
                turn_all();
                if (cases[i].second)
                        (void)!write(fd, cases[i].second, strlen(cases[i].second));
                if (cases[i].is_ended)
                        (void)shutdown(fd, SHUT_WR);
                turn_all();
                assert_int_equal(r.breaks, 1);
                player_end(p);
                (void)close(fd);
                b = replay_end(&r);
                if (!strstr(b.bytes, cases[i].line) ||
                    strstr(strstr(b.bytes, "differs") + 1, "differs"))
                        fail_msg("%zu: %s", i, b.bytes);
                buffer_fini(&b);
        }
}

static void
two_at_once_find_their_own(void **state)
{
        struct tape t;
        int to = begin(&t, false), fds[2];
        struct taped *c[2] = { tape_open(&t, "a.test", 80), tape_open(&t, "a.test", 80) };
        struct replay r = { .to = memfd_create("to", MFD_CLOEXEC) };
        struct player *p[2];
        struct buffer b;

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                tape_passed(c[i], true, i == 0 ? "first question" : "second", i == 0 ? 14 : 6);
                tape_passed(c[i], false, i == 0 ? "1" : "2", 1);
                tape_close(c[i]);
        }
        tape_end(&t);
        b = text_of(to);
        tape_begin(&r.tape, fcntl(r.to, F_DUPFD_CLOEXEC, 0), true, false);
        r.s = stand_in_new(file_of(b.bytes, b.len), loop, &r.tape);
        buffer_fini(&b);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(stand_in_dial(r.s, "a.test", 80, broken, &r, &fds[i], &p[i]),
                                 DENIAL_NONE);
        assert_int_equal(write(fds[0], "second", 6) + write(fds[1], "first question", 14), 20);
        turn_all();
        for (size_t i = 0; i < 2; i++) {
                char got = 0;

                assert_int_equal(recv(fds[i], &got, 1, MSG_DONTWAIT), 1);
                assert_int_equal(got, i == 0 ? '2' : '1');
                player_end(p[i]);
                (void)close(fds[i]);
        }
        b = replay_end(&r);
        assert_null(strstr(b.bytes, "differs"));
        buffer_fini(&b);
}

static void
what_failed_fails_again(void **state)
{
        static const char text[] = TRANSCRIPT_FIRST_LINE
                "failed 1 a.test 80 unreachable\nfailed 2 b.test 80 unresolved\nend\n";
        struct replay r = { .to = memfd_create("to", MFD_CLOEXEC) };
        struct player *p;
        struct buffer b;
        int fd;

        (void)state;
        tape_begin(&r.tape, fcntl(r.to, F_DUPFD_CLOEXEC, 0), true, false);
        r.s = stand_in_new(file_of(text, sizeof text - 1), loop, &r.tape);
        assert_int_equal(stand_in_look(r.s, "a.test", 80), DENIAL_NONE); /* it has an address */
        assert_int_equal(stand_in_dial(r.s, "a.test", 80, broken, &r, &fd, &p), DENIAL_UNREACHABLE);
        assert_int_equal(stand_in_look(r.s, "b.test", 80), DENIAL_UNRESOLVED);
        b = replay_end(&r);
        assert_null(strstr(b.bytes, "differs"));
        buffer_fini(&b);
}

static void
only_a_whole_transcript_is_replayed(void **state)
{
        static const char *const wrong[] = { "", TRANSCRIPT_FIRST_LINE,
                                             TRANSCRIPT_FIRST_LINE "stop tls a.test 443\nend\n",
                                             TRANSCRIPT_FIRST_LINE "open 1 a.test 80\n", "x\n" };
        struct tape t = { .fd = -1 };

        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                assert_null(stand_in_new(file_of(wrong[i], strlen(wrong[i])), loop, &t));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(any_cut_gives_the_same_transcript),
                cmocka_unit_test(nothing_that_the_command_sends_is_written),
                cmocka_unit_test(keys_of_a_connection_end_it),
                cmocka_unit_test(a_transcript_is_bounded),
                cmocka_unit_test(connections_are_bounded),
                cmocka_unit_test(another_gate_cannot_go_on),
                cmocka_unit_test(a_file_that_fails_ends_nothing),
                cmocka_unit_test(the_same_is_answered_the_same),
                cmocka_unit_test(something_else_is_told),
                cmocka_unit_test(two_at_once_find_their_own),
                cmocka_unit_test(what_failed_fails_again),
                cmocka_unit_test(only_a_whole_transcript_is_replayed),
        };

        if (loop_new(&loop) < 0)
                return 1;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
