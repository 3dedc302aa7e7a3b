/*
 * box/fake/box_test.c - a whole box process over an engine that plays a script: what a keeper and a
 * caller are sent in every state, and for every failure. The test is the keeper.
 */
#include "base/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/box.h"
#include "box/fake/fake.h"
#include "box/state.h"
#include "outcome/outcome.h"

enum { PATIENCE_MS = 20000, OVERDUE_MS = 150 };

static char directory_name[] = "/tmp/carrel-fake-XXXXXX";
static int keeper = -1, listener[2]; /* no further keeper comes */
static pid_t box = -1;
static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
static struct wire_message m;

/* -- a box ------------------------------------------------------------------------------------- */

static void
begin(const char *script)
{
        int pair[2], directory;

        (void)snprintf(directory_name, sizeof directory_name, "%s", "/tmp/carrel-fake-XXXXXX");
        assert_non_null(mkdtemp(directory_name));
        directory = open(directory_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(directory >= 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, listener), 0);
        box = fork();
        if (box == 0) {
                const struct box_start start = {
                        .begin = { .id = "fake", .deadline_ms = BOX_NEVER, .keep_bytes = 1 << 20 },
                        .engine = fake_open(script),
                        .listener = listener[0],
                        .keeper = pair[0],
                        .directory = directory,
                        .protocol = BOX_PROTOCOL,
                        .overdue_ms = OVERDUE_MS,
                };

                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test fails */
                (void)close(pair[1]);
                (void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
                box_serve(&start);
        }
        (void)close(pair[0]);
        (void)close(directory);
        keeper = pair[1];
}

/* The next message; 0: the box has closed. */
static int
next(void)
{
        struct pollfd p = { .fd = keeper, .events = POLLIN };

        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        wire_message_close(&m);
        return wire_receive(keeper, 0, &m, body, sizeof body);
}

/* Skips messages up to one of this kind. */
static const void *
wait_for(uint16_t kind)
{
        do
                if (next() != 1)
                        fail_msg("the box closed before message %u", kind);
        while (m.kind != kind);
        return body;
}

static void
say(uint16_t kind, const void *what, size_t len)
{
        assert_int_equal(wire_send(keeper, kind, what, len, NULL, 0), 0);
}

/* The box has ended with this cause, and its process with status 0. Returns the failed step. */
static struct wire_failed
end(uint32_t cause)
{
        struct wire_box_gone gone;
        int status = -1;
        char journal[64];

        memcpy(&gone, wait_for(WIRE_BOX_GONE), sizeof gone);
        assert_int_equal(gone.cause, cause);
        assert_int_equal(next(), 0); /* nothing is said after it */
        (void)close(keeper);
        (void)close(listener[0]);
        (void)close(listener[1]);
        assert_int_equal(waitpid(box, &status, 0), box);
        assert_int_equal(status, 0);
        (void)snprintf(journal, sizeof journal, "%s/journal", directory_name);
        (void)unlink(journal);
        assert_int_equal(rmdir(directory_name), 0);
        return gone.failed;
}

static void
stop(void)
{
        say(WIRE_BOX_STOP, NULL, 0);
        (void)end(BOX_GONE_STOPPED);
}

/* The keeper judges names by it, so that it must not be lost in a race with the maker. */
static void
the_upper_directory_is_passed_on_in_each_order(void **state)
{
        (void)state;
        begin("upper");
        (void)wait_for(WIRE_BOX_UPPER);
        assert_int_equal(m.fd_count, 1);
        (void)wait_for(WIRE_BOX_READY);
        say(WIRE_BOX_STOP, NULL, 0);
        (void)end(BOX_GONE_STOPPED);
}

/* -- a command --------------------------------------------------------------------------------- */

/* Its channel. The words are one argument. */
static int
ask(const char *words)
{
        static _Alignas(8) unsigned char bytes[512];
        size_t len = strlen(words) + 1;
        const struct wire_exec wire = { .argc = 1, .strings_len = (uint32_t)len + 2 };
        const struct wire_box_exec what = { .deadline_ms = BOX_NEVER,
                                            .timeout_ms = BOX_NEVER,
                                            .cpu_ms = BOX_NEVER,
                                            .output_bytes = BOX_NEVER };
        int pair[2];
        long sent;

        memcpy(bytes, &what, sizeof what);
        memcpy(bytes + sizeof what, &wire, sizeof wire);
        memcpy(bytes + sizeof what + sizeof wire, words, len);
        memcpy(bytes + sizeof what + sizeof wire + len, "/", 2);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        sent = wire_send(keeper, WIRE_BOX_EXEC, bytes, sizeof what + sizeof wire + len + 2,
                         &pair[0], 1);
        assert_true(sent == 0 || sent == -EPIPE); /* a box that could not be made may be gone */
        (void)close(pair[0]);
        return pair[1];
}

struct seen {
        struct channel_end end; /* word OUTCOME_MAX: no end was sent */
        struct wire_exec_failed failed;
        unsigned starts, ends, fails;
        size_t printed;
};

/* Everything that a caller is sent, until the box closes its channel. */
static struct seen
follow(int channel)
{
        struct channel_reader reader;
        struct seen seen = { .end = { .word = OUTCOME_MAX } };
        unsigned char bytes[4096];

        channel_reader_init(&reader, CHANNEL_FROM_BOX);
        for (;;) {
                struct pollfd p = { .fd = channel, .events = POLLIN };
                const unsigned char *at = bytes;
                struct channel_piece piece;
                ssize_t got;
                size_t len;

                assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
                got = recv(channel, bytes, sizeof bytes, 0);
                if (got <= 0)
                        break;
                len = (size_t)got;
                while (len > 0 && channel_reader_next(&reader, &at, &len, &piece) == 1) {
                        seen.starts += piece.kind == CHANNEL_STARTED;
                        seen.ends += piece.kind == CHANNEL_END;
                        seen.fails += piece.kind == CHANNEL_FAILED;
                        seen.printed += piece.kind == CHANNEL_STDOUT ? piece.len : 0;
                        if (piece.kind == CHANNEL_END)
                                memcpy(&seen.end, piece.bytes, sizeof seen.end);
                        if (piece.kind == CHANNEL_FAILED)
                                memcpy(&seen.failed, piece.bytes, sizeof seen.failed);
                }
        }
        (void)close(channel);
        return seen;
}

static const struct {
        const char *command;
        uint32_t word;
        int exit_code, signal;
        size_t printed;
} ends[] = {
        { "exit 0", OUTCOME_EXITED, 0, 0, 0 },
        { "exit 3", OUTCOME_EXITED, 3, 0, 0 },
        { "signal 9", OUTCOME_SIGNALED, -1, 9, 0 },
        { "oom", OUTCOME_OOM_KILLED, -1, 0, 0 },
        { "say hello", OUTCOME_EXITED, 0, 0, 6 },
        { "print 500000", OUTCOME_EXITED, 0, 0, 500000 },
        { "twice", OUTCOME_EXITED, 0, 0, 0 },
};

static void
each_command_is_reported_once(void **state)
{
        (void)state;
        begin("");
        (void)wait_for(WIRE_BOX_READY);
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
                struct seen seen = follow(ask(ends[i].command));
                struct wire_box_streams streams;

                if (seen.starts != 1 || seen.ends != 1 || seen.fails != 0 ||
                    seen.end.word != ends[i].word || seen.end.exit_code != ends[i].exit_code ||
                    seen.end.signal != ends[i].signal || seen.printed != ends[i].printed)
                        fail_msg("%s: %u starts, %u ends, word %u, %d, %d, %zu bytes",
                                 ends[i].command, seen.starts, seen.ends, seen.end.word,
                                 seen.end.exit_code, seen.end.signal, seen.printed);
                (void)wait_for(WIRE_BOX_STARTED);
                if (next() != 1 || m.kind != WIRE_BOX_STREAMS)
                        fail_msg("%s: the keeper heard message %u", ends[i].command, m.kind);
                memcpy(&streams, body, sizeof streams);
                assert_int_equal(streams.known, 6);
                assert_int_equal(streams.of[1].bytes + streams.of[2].bytes, ends[i].printed);
                if (next() != 1 || m.kind != WIRE_BOX_FINISHED)
                        fail_msg("%s: the keeper heard message %u", ends[i].command, m.kind);
        }
        stop();
}

static const struct {
        const char *command;
        int sys;
        uint32_t stage;
} fails[] = {
        { "fail ENOENT", ENOENT, WIRE_STAGE_LOOKUP },
        { "fail EACCES", EACCES, WIRE_STAGE_LOOKUP },
        { "refuse EAGAIN", EAGAIN, WIRE_STAGE_PREPARE },
};

static void
a_start_that_fails_is_reported_once(void **state)
{
        (void)state;
        begin("");
        (void)wait_for(WIRE_BOX_READY);
        for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
                struct seen seen = follow(ask(fails[i].command));
                const struct wire_box_listed *listed = wait_for(WIRE_BOX_FINISHED);

                if (seen.fails != 1 || seen.starts + seen.ends > 0 ||
                    seen.failed.sys != fails[i].sys || seen.failed.stage != fails[i].stage ||
                    listed->state != BOX_EXEC_FAILED)
                        fail_msg("%s: %u, %d in stage %u", fails[i].command, seen.fails,
                                 seen.failed.sys, seen.failed.stage);
        }
        assert_int_equal(follow(ask("exit 4")).end.exit_code, 4);
        stop();
}

static const struct {
        const char *script;
        uint32_t cause, step;
        int sys;
} makings[] = {
        { "begin 7 ENOSPC", BOX_GONE_MAKE_FAILED, 7, ENOSPC },
        { "ready 9 EPERM", BOX_GONE_MAKE_FAILED, 9, EPERM },
        { "lost", BOX_GONE_DIED, 0, 0 },
        { "gone", BOX_GONE_DIED, 0, 0 },
        { "lost; end EPIPE", BOX_GONE_DIED, 0, 0 },
};

/* A command that was asked for meanwhile ends with the box. */
static void
a_making_that_fails_has_one_cause(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof makings / sizeof *makings; i++) {
                struct wire_failed failed;
                struct seen seen;

                begin(makings[i].script);
                seen = follow(ask("hang"));
                if (seen.fails != 0 || (seen.end.word != OUTCOME_LOST && seen.starts > 0))
                        fail_msg("%s: the command's word is %u", makings[i].script, seen.end.word);
                failed = end(makings[i].cause);
                assert_int_equal(failed.step, makings[i].step);
                assert_int_equal(failed.sys, makings[i].sys);
        }
}

static void
an_engine_that_is_lost_ends_every_command(void **state)
{
        static const char *const causes[] = { "lose", "vanish" };

        (void)state;
        for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
                int waits;
                struct seen seen;

                begin("");
                (void)wait_for(WIRE_BOX_READY);
                waits = ask("hang");
                (void)wait_for(WIRE_BOX_STARTED);
                seen = follow(ask(causes[i]));
                assert_true(seen.ends == 1 && seen.end.word == OUTCOME_LOST);
                seen = follow(waits);
                assert_true(seen.ends == 1 && seen.end.word == OUTCOME_LOST);
                (void)end(BOX_GONE_DIED);
        }
}

static void
a_stop_ends_every_command_and_is_done_once(void **state)
{
        int channel;

        (void)state;
        begin("");
        channel = ask("hang");
        (void)wait_for(WIRE_BOX_STARTED);
        say(WIRE_BOX_STOP, NULL, 0);
        say(WIRE_BOX_STOP, NULL, 0);
        assert_int_equal(follow(channel).end.word, OUTCOME_KILLED);
        (void)end(BOX_GONE_STOPPED);
        begin("end EPIPE"); /* nothing is left that could end it */
        (void)wait_for(WIRE_BOX_READY);
        stop();
}

static void
an_end_before_the_start_is_ignored(void **state)
{
        const struct wire_box_kill all = { .word = OUTCOME_TIMED_OUT };
        struct seen seen;
        int channel;

        (void)state;
        begin("");
        channel = ask("early");
        (void)wait_for(WIRE_BOX_STARTED);
        say(WIRE_BOX_KILL, &all, sizeof all);
        seen = follow(channel);
        assert_true(seen.starts == 1 && seen.ends == 1 && seen.end.word == OUTCOME_TIMED_OUT);
        stop();
}

static void
a_command_that_does_not_end_ends_the_box(void **state)
{
        const struct wire_box_kill all = { .word = OUTCOME_KILLED };
        int channel;

        (void)state;
        begin("");
        channel = ask("deaf");
        (void)wait_for(WIRE_BOX_STARTED);
        say(WIRE_BOX_KILL, &all, sizeof all);
        assert_int_equal(follow(channel).end.word, OUTCOME_KILLED);
        (void)end(BOX_GONE_STUCK);
}

/* -- freezing, ports, counters ----------------------------------------------------------------- */

static int
freeze(int is_wanted)
{
        const struct wire_number ask_for = { is_wanted };
        struct wire_exec_number said;

        say(WIRE_BOX_FREEZE, &ask_for, sizeof ask_for);
        memcpy(&said, wait_for(WIRE_BOX_FROZEN), sizeof said);
        assert_int_equal(said.exec, is_wanted);
        return said.number;
}

static void
a_frozen_box_starts_nothing_until_it_is_thawed(void **state)
{
        struct pollfd p = { .events = POLLIN };

        (void)state;
        begin("");
        (void)wait_for(WIRE_BOX_READY);
        assert_int_equal(freeze(1), 0);
        assert_int_equal(freeze(1), 0);
        p.fd = ask("exit 5");
        say(WIRE_BOX_LIST, NULL, 0); /* the answer shows that the command was taken in */
        (void)wait_for(WIRE_BOX_LISTED);
        assert_int_equal(poll(&p, 1, 0), 0);
        assert_int_equal(freeze(0), 0);
        assert_int_equal(follow(p.fd).end.exit_code, 5);
        stop();
}

/* What ends commands is frozen with them: the time that a killed one may take begins again. */
static void
a_command_that_is_killed_while_all_is_frozen_has_time_afterwards(void **state)
{
        const struct wire_box_kill all = { .word = OUTCOME_KILLED };
        int channel;

        (void)state;
        begin("freezes-all");
        channel = ask("deaf");
        (void)wait_for(WIRE_BOX_STARTED);
        assert_int_equal(freeze(1), 0);
        say(WIRE_BOX_KILL, &all, sizeof all);
        (void)poll(NULL, 0, 3 * OVERDUE_MS);
        say(WIRE_BOX_LIST, NULL, 0);
        (void)wait_for(WIRE_BOX_LISTED); /* not: the box has ended */
        assert_int_equal(freeze(0), 0);
        assert_int_equal(follow(channel).end.word, OUTCOME_KILLED);
        (void)end(BOX_GONE_STUCK);
}

static const struct {
        const char *script;
        int freezes, thaws;
} freezers[] = {
        { "freeze EBUSY", EBUSY, 0 },
        { "frozen EIO", EIO, 0 },
        { "no-freeze", ENOTSUP, ENOTSUP },
};

static void
a_freezer_that_refuses_leaves_the_box_running(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof freezers / sizeof *freezers; i++) {
                int sys;

                begin(freezers[i].script);
                (void)wait_for(WIRE_BOX_READY);
                sys = freeze(1);
                if (sys != freezers[i].freezes)
                        fail_msg("%s: %d", freezers[i].script, sys);
                assert_int_equal(follow(ask("exit 6")).end.exit_code, 6);
                assert_int_equal(freeze(0), freezers[i].thaws);
                stop();
        }
}

static void
a_port_answers_or_says_why_not(void **state)
{
        const struct wire_connect ask_for = { .request = 77, .port = 8080 };
        struct wire_connected said;
        char text[8] = "";

        (void)state;
        begin("");
        (void)wait_for(WIRE_BOX_READY);
        say(WIRE_BOX_CONNECT, &ask_for, sizeof ask_for);
        memcpy(&said, wait_for(WIRE_BOX_CONNECTED), sizeof said);
        assert_true(said.request == 77 && said.sys == 0 && m.fd_count == 1);
        assert_int_equal(read(m.fds[0], text, sizeof text), 5);
        stop();
        begin("connect ECONNREFUSED");
        say(WIRE_BOX_CONNECT, &ask_for, sizeof ask_for); /* before there is a box */
        memcpy(&said, wait_for(WIRE_BOX_CONNECTED), sizeof said);
        assert_true(said.sys == ESRCH || said.sys == ECONNREFUSED);
        say(WIRE_BOX_CONNECT, &ask_for, sizeof ask_for);
        memcpy(&said, wait_for(WIRE_BOX_CONNECTED), sizeof said);
        assert_true(said.request == 77 && m.fd_count == 0 && said.sys == ECONNREFUSED);
        stop();
}

static void
usage_without_counters_is_that_of_the_execs(void **state)
{
        static const char *const scripts[] = { "no-usage", "" };

        (void)state;
        for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
                struct wire_box_used used;

                begin(scripts[i]);
                assert_int_equal(follow(ask("exit 0")).end.word, OUTCOME_EXITED);
                assert_int_equal(follow(ask("signal 9")).end.word, OUTCOME_SIGNALED);
                say(WIRE_BOX_USAGE, NULL, 0);
                memcpy(&used, wait_for(WIRE_BOX_USED), sizeof used);
                assert_int_equal(used.cpu_ns, 2000000);
                stop();
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_command_is_reported_once),
                cmocka_unit_test(a_start_that_fails_is_reported_once),
                cmocka_unit_test(the_upper_directory_is_passed_on_in_each_order),
                cmocka_unit_test(a_making_that_fails_has_one_cause),
                cmocka_unit_test(an_engine_that_is_lost_ends_every_command),
                cmocka_unit_test(a_stop_ends_every_command_and_is_done_once),
                cmocka_unit_test(an_end_before_the_start_is_ignored),
                cmocka_unit_test(a_command_that_does_not_end_ends_the_box),
                cmocka_unit_test(a_command_that_is_killed_while_all_is_frozen_has_time_afterwards),
                cmocka_unit_test(a_frozen_box_starts_nothing_until_it_is_thawed),
                cmocka_unit_test(a_freezer_that_refuses_leaves_the_box_running),
                cmocka_unit_test(a_port_answers_or_says_why_not),
                cmocka_unit_test(usage_without_counters_is_that_of_the_execs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
