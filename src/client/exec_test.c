/*
 * client/exec_test.c - an exec over a channel whose other end this test holds.
 */
#include "client/exec.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "outcome/outcome.h"
#include "wire/channel.h"
#include "wire/message.h"

struct pair {
        struct carrel_exec *x;
        int box;
        struct channel_reader reader;
};

static struct pair
open_pair(const char *name)
{
        struct pair p;
        struct error e;
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(client_exec_take(ends[0], 3, name, &p.x, &e), 0);
        p.box = ends[1];
        channel_reader_init(&p.reader, CHANNEL_TO_BOX);
        return p;
}

static void
output_and_its_end_arrive(void **state)
{
        struct pair p = open_pair("true");
        struct channel_started started = { 3, 17 };
        struct channel_end end = { .word = OUTCOME_EXITED, .exit_code = 5, .stdout_bytes = 2 };
        struct carrel_piece piece;
        struct carrel_error e;

        assert_int_equal(carrel_exec_read(p.x, 0, &piece, &e), 0);
        assert_int_equal(channel_send(p.box, CHANNEL_STARTED, &started, sizeof started, 0), 0);
        assert_int_equal(channel_send(p.box, CHANNEL_STDERR, "hi", 2, 10), 0);
        assert_int_equal(channel_send(p.box, CHANNEL_END, &end, sizeof end, 0), 0);
        (void)close(p.box);
        assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), 1);
        assert_int_equal(piece.kind, CARREL_STARTED);
        assert_int_equal(carrel_exec_pid(p.x), 17);
        assert_null(carrel_exec_end(p.x));
        assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), 1);
        assert_int_equal(piece.kind, CARREL_STDERR);
        assert_memory_equal(piece.bytes, "hi", 2);
        assert_int_equal(piece.offset, 10);
        assert_int_equal(carrel_exec_offset(p.x, CARREL_STDERR), 12);
        assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), 1);
        assert_int_equal(piece.kind, CARREL_END);
        assert_int_equal(carrel_exec_end(p.x)->exit_status, 5);
        assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), 0);
        carrel_exec_free(p.x);
}

static void
what_went_wrong_has_its_code(void **state)
{
        static const struct {
                struct wire_exec_failed failed;
                const char *code;
        } cases[] = {
                { { 3, ENOENT, WIRE_STAGE_LOOKUP }, "command_not_found" },
                { { 3, EACCES, WIRE_STAGE_LOOKUP }, "command_not_executable" },
                { { 3, ENOENT, WIRE_STAGE_DIRECTORY }, "invalid_argument" },
                { { 3, ENOMEM, WIRE_STAGE_SPAWN }, "quota_exceeded" },
        };
        struct carrel_piece piece;
        struct carrel_error e;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct pair p = open_pair("no-such-thing");

                assert_int_equal(channel_send(p.box, CHANNEL_FAILED, &cases[i].failed,
                                              sizeof cases[i].failed, 0),
                                 0);
                assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), -1);
                assert_string_equal(e.code, cases[i].code);
                (void)close(p.box);
                carrel_exec_free(p.x);
        }
}

static void
an_early_end_is_reported(void **state)
{
        static const struct {
                const char *name;
                int is_heard;
                const char *bytes;
                size_t len;
                const char *code;
        } cases[] = {
                { "closed at once", 0, NULL, 0, "exec_not_found" },
                { "closed after a start", 1, NULL, 0, "" },
                { "closed within a frame", 1, "abc", 3, "" },
                { "a frame that is none", 1, "abcdefghabcdefgh", 16, "protocol_error" },
        };
        struct channel_started started = { 3, 17 };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct pair p = open_pair("true");
                struct carrel_piece piece;
                struct carrel_error e = { .code = "" };

                if (cases[i].is_heard)
                        assert_int_equal(
                                channel_send(p.box, CHANNEL_STARTED, &started, sizeof started, 0),
                                0);
                if (cases[i].len > 0)
                        assert_int_equal(write(p.box, cases[i].bytes, cases[i].len), cases[i].len);
                (void)close(p.box);
                while (carrel_exec_read(p.x, -1, &piece, &e) > 0)
                        ;
                if (strcmp(e.code, cases[i].code) != 0)
                        fail_msg("%s: %s", cases[i].name, e.code);
                if (*cases[i].code == '\0')
                        assert_string_equal(carrel_exec_end(p.x)->outcome, "lost");
                else
                        assert_null(carrel_exec_end(p.x));
                carrel_exec_free(p.x);
        }
}

static void
an_ending_that_there_is_not_is_refused(void **state)
{
        static const struct channel_end ends[] = { { .word = OUTCOME_MAX },
                                                   { .word = OUTCOME_EXITED, .exit_code = 256 },
                                                   { .word = OUTCOME_EXITED, .exit_code = -1 } };

        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
                struct pair p = open_pair("true");
                struct carrel_piece piece;
                struct carrel_error e;

                assert_int_equal(channel_send(p.box, CHANNEL_END, &ends[i], sizeof ends[i], 0), 0);
                assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), -1);
                assert_string_equal(e.code, "protocol_error");
                assert_null(carrel_exec_end(p.x));
                (void)close(p.box);
                carrel_exec_free(p.x);
        }
}

/* Reads frames of input until its end; gives the bytes that arrived. */
static size_t
read_input(struct pair *p, unsigned char *bytes, size_t room, int is_to_end)
{
        static unsigned char body[CHANNEL_FRAME_MAX];
        struct channel_frame f;
        size_t len = 0;

        while (len < room || is_to_end) {
                assert_int_equal(channel_receive(p->box, &p->reader, &f, body, sizeof body), 1);
                if (f.kind == CHANNEL_STDIN_END)
                        break;
                assert_int_equal(f.kind, CHANNEL_STDIN);
                assert_true(f.len <= room - len);
                memcpy(bytes + len, body, f.len);
                len += f.len;
        }
        return len;
}

static void
input_never_waits_and_arrives_whole(void **state)
{
        enum { LEN = 3 << 20 };
        static unsigned char input[LEN], got[LEN];
        struct pair p = open_pair("cat");
        struct carrel_error e;
        size_t at = 0, read_len = 0;

        for (size_t i = 0; i < LEN; i++)
                input[i] = (unsigned char)(i * 7 >> 2);
        while (at < LEN) {
                long taken = carrel_exec_write(p.x, input + at, LEN - at, &e);

                assert_true(taken >= 0);
                at += (size_t)taken;
                if (taken == 0) { /* nothing has read so far: read now */
                        struct pollfd fd = { carrel_exec_fd(p.x), carrel_exec_events(p.x), 0 };
                        struct channel_frame f;
                        static unsigned char body[CHANNEL_FRAME_MAX];

                        assert_int_equal(fd.events, POLLIN | POLLOUT);
                        assert_int_equal(channel_receive(p.box, &p.reader, &f, body, sizeof body),
                                         1);
                        memcpy(got + read_len, body, f.len);
                        read_len += f.len;
                }
        }
        assert_true(read_len > 0);
        assert_int_equal(carrel_exec_write_end(p.x, &e), 0);
        while (carrel_exec_events(p.x) != POLLIN) {
                struct channel_frame f;
                static unsigned char body[CHANNEL_FRAME_MAX];
                struct carrel_piece piece;

                assert_int_equal(channel_receive(p.box, &p.reader, &f, body, sizeof body), 1);
                memcpy(got + read_len, body, f.len);
                read_len += f.len;
                assert_int_equal(carrel_exec_read(p.x, 0, &piece, &e), 0);
        }
        read_len += read_input(&p, got + read_len, LEN - read_len, 1);
        assert_int_equal(read_len, LEN);
        assert_memory_equal(got, input, LEN);
        (void)close(p.box);
        carrel_exec_free(p.x);
}

static void
nothing_breaks_when_the_other_side_is_gone(void **state)
{
        struct pair p = open_pair("cat");
        struct carrel_piece piece;
        struct carrel_error e;

        (void)close(p.box);
        assert_int_equal(carrel_exec_write(p.x, "abc", 3, &e), 3);
        assert_int_equal(carrel_exec_write(p.x, "abc", 3, &e), 3);
        assert_int_equal(carrel_exec_signal(p.x, 2, &e), 0);
        assert_int_equal(carrel_exec_signal(p.x, 0, &e), -1);
        assert_int_equal(carrel_exec_read(p.x, -1, &piece, &e), -1);
        assert_int_equal(carrel_exec_detach(p.x, &e), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(output_and_its_end_arrive),
                cmocka_unit_test(what_went_wrong_has_its_code),
                cmocka_unit_test(an_early_end_is_reported),
                cmocka_unit_test(an_ending_that_there_is_not_is_refused),
                cmocka_unit_test(input_never_waits_and_arrives_whole),
                cmocka_unit_test(nothing_breaks_when_the_other_side_is_gone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
