/*
 * relay/relay_test.c - relay/relay.h: with the guest's own code as a child, and with a guest that
 * lies.
 */
#include "relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"
#include "clock/clock.h"
#include "guest/executions.h"
#include "guest/guest.h"
#include "guest/transport.h"
#include "wire/box.h"
#include "wire/command.h"
#include "wire/stream.h"

enum { BODY = 4096, STDIO = 3, PATIENCE_MS = 20000 };

static int control;    /* the box's end */
static int stream;     /* of the guest that lies */
static int alive = -1; /* what the relay ends with */
static pid_t relay_pid, guest_pid;
static _Alignas(8) unsigned char said[BODY];
static const char plan[8] = "plan";

static _Noreturn void
be_relay(int box, int guest)
{
        const struct relay_start start = { .control = box,
                                           .alive = alive,
                                           .stream = guest,
                                           .plan = plan,
                                           .plan_len = sizeof plan,
                                           .first_step = 10,
                                           .names = -1,
                                           .diag = -1,
                                           .is_living = 1 };

        _exit(-relay_serve(&start));
}

static _Noreturn void
be_guest(int fd)
{
        struct transport *t;
        void *got;
        size_t len;
        int own, nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (int i = 0; i < STDIO; i++) /* what it leaves does not hold this program's output */
                (void)dup2(nothing, i);
        if (transport_open(fd, 64, &t, &own) < 0 || transport_receive_plan(t, &got, &len) < 0 ||
            len != sizeof plan || memcmp(got, plan, len) != 0 ||
            transport_say(t, WIRE_BOX_READY, NULL, 0) < 0)
                _exit(125);
        guest_serve_stream(t, own, &(const struct executions_asked){ -1, false });
}

static void
begin(unsigned has_guest)
{
        int box[2], line[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, box), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line), 0);
        relay_pid = fork();
        assert_true(relay_pid >= 0);
        if (relay_pid == 0) {
                (void)close(box[0]);
                (void)close(line[1]);
                be_relay(box[1], line[0]);
        }
        guest_pid = has_guest ? fork() : 0;
        if (has_guest && guest_pid == 0) {
                (void)close(box[0]);
                (void)close(box[1]);
                (void)close(line[0]);
                be_guest(line[1]);
        }
        (void)close(box[1]);
        (void)close(line[0]);
        control = box[0];
        stream = line[1];
        if (has_guest)
                (void)close(stream);
}

/* What a guest that is no pid 1 leaves: they are children of this process now. */
static void
end_orphans(void)
{
        char text[256];
        ssize_t got;

        do {
                int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
                pid_t pid;

                got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
                if (fd >= 0)
                        (void)close(fd);
                text[got > 0 ? got : 0] = '\0';
                pid = (pid_t)strtol(text, NULL, 10);
                if (pid > 0 && kill(pid, SIGKILL) == 0)
                        (void)waitpid(pid, NULL, 0);
        } while (got > 0);
}

/* The exit status of the relay: 0, or the errno of a guest that broke the protocol. */
static int
end(void)
{
        int status = 0;

        (void)close(control);
        if (guest_pid > 0)
                assert_int_equal(waitpid(guest_pid, NULL, 0), guest_pid);
        else
                (void)close(stream);
        assert_int_equal(waitpid(relay_pid, &status, 0), relay_pid);
        end_orphans();
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The next message of the relay; its descriptor, or -1. */
static int
expect(uint16_t kind)
{
        struct wire_message m;
        struct pollfd ready = { control, POLLIN, 0 };

        do { /* that no process is left may be told at any time */
                assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
                assert_int_equal(wire_receive(control, 0, &m, said, sizeof said), 1);
        } while (m.kind == WIRE_IDLE);
        assert_int_equal(m.kind, kind);
        return m.fd_count > 0 ? m.fds[0] : -1;
}

/* A shell that runs `text`, as the box orders it. */
static size_t
order(uint32_t exec, uint32_t flags, const char *text, unsigned char *ret)
{
        const char *const argv[] = { "/bin/sh", "-c", text }, *const env[] = {
                "PATH=/usr/bin:/bin"
        };
        const struct wire_command c = { .head = { .exec = exec,
                                                  .flags = flags | WIRE_EXEC_TREE,
                                                  .argc = 3,
                                                  .envc = 1,
                                                  .rows = 24,
                                                  .columns = 80 },
                                        .argv = argv,
                                        .env = env,
                                        .cwd = "/" };
        static _Alignas(8) unsigned char whole[BODY];
        struct wire_box_exec ask = { .exec = exec };
        size_t len = wire_command_len(&c);

        assert_true(len > sizeof ask && len <= sizeof whole);
        wire_command_write(&c, &ask, whole);
        memcpy(ret, whole + sizeof ask, len - sizeof ask);
        return len - sizeof ask;
}

struct streams {
        int in, out, err; /* this side's */
};

static struct streams
start(uint32_t exec, const char *text)
{
        _Alignas(8) unsigned char message[BODY];
        size_t len = order(exec, 0, text, message);
        int in[2], out[2], err[2];

        assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
        assert_int_equal(
                wire_send(control, WIRE_EXEC, message, len, (int[]){ in[0], out[1], err[1] }, 3),
                0);
        (void)close(in[0]);
        (void)close(out[1]);
        (void)close(err[1]);
        return (struct streams){ in[1], out[0], err[0] };
}

static void
close_streams(const struct streams *s)
{
        if (s->in >= 0)
                (void)close(s->in);
        (void)close(s->out);
        (void)close(s->err);
}

/* Reads until the end of the stream. */
static size_t
read_all(int fd, char *text, size_t room)
{
        size_t len = 0;
        ssize_t got;

        while (len < room - 1 && (got = read(fd, text + len, room - 1 - len)) > 0)
                len += (size_t)got;
        text[len] = '\0';
        return len;
}

static struct wire_exec_ended
ended_of(uint32_t exec)
{
        struct wire_exec_ended ended;

        (void)expect(WIRE_EXEC_ENDED);
        memcpy(&ended, said, sizeof ended);
        assert_int_equal(ended.exec, exec);
        return ended;
}

/* -- with the guest ---------------------------------------------------------------------------- */

static void
a_command_runs(void **state)
{
        char text[256];
        struct streams s;
        struct wire_exec_ended ended;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        s = start(1, "read x; echo out $x; echo err >&2; exit 3");
        assert_int_equal(write(s.in, "word\n", 5), 5);
        (void)expect(WIRE_EXEC_STARTED);
        ended = ended_of(1);
        assert_int_equal(ended.code, CLD_EXITED);
        assert_int_equal(ended.status, 3);
        (void)read_all(s.out, text, sizeof text);
        assert_string_equal(text, "out word\n");
        (void)read_all(s.err, text, sizeof text);
        assert_string_equal(text, "err\n");
        close_streams(&s);
        assert_int_equal(end(), 0);
}

/* R2: its output is in the pipe when its end is reported, though a child of it holds the pipe. */
static void
output_comes_before_the_end(void **state)
{
        static char text[65536];
        struct streams s;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        s = start(1, "sleep 1000 & head -c 50000 /dev/zero");
        assert_int_equal(fcntl(s.out, F_SETFL, O_NONBLOCK), 0);
        (void)expect(WIRE_EXEC_STARTED);
        (void)ended_of(1);
        assert_int_equal(read_all(s.out, text, sizeof text), 50000);
        close_streams(&s);
        assert_int_equal(end(), 0);
}

static bool
has_children(pid_t pid)
{
        char path[64], c;
        int fd;
        ssize_t got;

        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        got = read(fd, &c, 1);
        (void)close(fd);
        return got > 0;
}

/*
 * R2, for more than the credit of a stream: a command that has ended leaves a part in its own pipe,
 * while the relay does not run. Returns the bytes that wait for the reader when the end is
 * reported; the guest held the report back for `*ret_held_ms` at most.
 */
static int
waiting_at_the_end(uint64_t *ret_held_ms)
{
        enum { ROOM = 1 << 20, MOMENT_MS = 50 };
        char go_on[] = "/tmp/carrel-relay-XXXXXX", command[128];
        struct streams s;
        uint64_t begun_ms;
        int waiting = 0;

        assert_non_null(mkdtemp(go_on));
        begin(1);
        (void)expect(WIRE_BOX_READY);
        (void)snprintf(command, sizeof command,
                       "while [ -e %s ]; do :; done; exec head -c 100000 /dev/zero", go_on);
        s = start(1, command);
        (void)expect(WIRE_EXEC_STARTED);
        assert_int_equal(fcntl(s.out, F_SETPIPE_SZ, ROOM), ROOM);
        assert_int_equal(kill(relay_pid, SIGSTOP), 0);
        begun_ms = clock_boot_ms();
        assert_int_equal(rmdir(go_on), 0);
        while (has_children(guest_pid))
                (void)poll(NULL, 0, 1);
        (void)poll(NULL, 0, MOMENT_MS); /* a guest that does not wait reports the end now */
        assert_int_equal(kill(relay_pid, SIGCONT), 0);
        (void)ended_of(1);
        *ret_held_ms = clock_boot_ms() - begun_ms;
        assert_int_equal(ioctl(s.out, FIONREAD, &waiting), 0);
        close_streams(&s);
        assert_int_equal(end(), 0);
        return waiting;
}

static void
all_output_comes_before_the_end(void **state)
{
        enum { BYTES = 100000, HOLD_MS = 1000 /* of guest/transport.c */, TRIES = 20 };
        uint64_t held_ms = 0;
        int waiting = 0;

        (void)state;
        /* Past HOLD_MS the guest may report without the rest: a machine that is so busy tries
         * again. */
        for (int i = 0; i < TRIES && waiting != BYTES && (i == 0 || held_ms >= HOLD_MS); i++)
                waiting = waiting_at_the_end(&held_ms);
        assert_int_equal(waiting, BYTES);
}

/*
 * R2, for a reader that takes a page at a time: the rest is in the relay, in the guest, and in the
 * pipe of a command that has ended.
 */
static void
the_end_waits_for_a_reader_that_reads(void **state)
{
        enum { BYTES = 80000, PAGE = 4096 };
        static char page[PAGE];
        bool has_ended = false;
        size_t total = 0;
        struct streams s;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        s = start(1, "read x; exec head -c 80000 /dev/zero");
        (void)expect(WIRE_EXEC_STARTED);
        assert_int_equal(fcntl(s.out, F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(fcntl(s.out, F_SETPIPE_SZ, PAGE), PAGE);
        assert_int_equal(write(s.in, "\n", 1), 1);
        while (!has_ended) {
                struct pollfd ready = { control, POLLIN, 0 };
                ssize_t got = read(s.out, page, sizeof page);
                struct wire_message m;

                total += got > 0 ? (size_t)got : 0;
                if (poll(&ready, 1, 1) == 0)
                        continue;
                assert_int_equal(wire_receive(control, 0, &m, said, sizeof said), 1);
                has_ended = m.kind == WIRE_EXEC_ENDED;
        }
        assert_true(total + PAGE >= BYTES); /* all that was not read is in the pipe */
        close_streams(&s);
        assert_int_equal(end(), 0);
}

static void
a_reader_that_does_not_read_holds_up_nobody(void **state)
{
        static char text[1 << 16];
        struct streams slow, fast;
        size_t total = 0, got;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        slow = start(1, "exec cat /dev/zero");
        (void)expect(WIRE_EXEC_STARTED);
        fast = start(2, "exec head -c 5000000 /dev/zero");
        (void)expect(WIRE_EXEC_STARTED);
        while ((got = read_all(fast.out, text, sizeof text)) > 0)
                total += got;
        assert_int_equal(total, 5000000);
        assert_int_equal(ended_of(2).status, 0);
        close_streams(&slow); /* nobody reads it any more */
        assert_int_equal(ended_of(1).status, SIGPIPE);
        close_streams(&fast);
        assert_int_equal(end(), 0);
}

static void
a_kill_ends_the_tree(void **state)
{
        struct wire_exec_number kill_all = { 1, SIGKILL };
        struct wire_exec_ended ended;
        struct streams s;
        char c;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        s = start(1, "sleep 1000 & sleep 1000");
        (void)expect(WIRE_EXEC_STARTED);
        assert_int_equal(wire_send(control, WIRE_KILL_TREE, &kill_all, sizeof kill_all, NULL, 0),
                         0);
        ended = ended_of(1);
        assert_int_equal(ended.code, CLD_KILLED);
        assert_int_equal(ended.status, SIGKILL);
        assert_int_equal(read(s.out, &c, 1), 0); /* the child, which held it, is gone too */
        close_streams(&s);
        assert_int_equal(end(), 0);
}

static void
a_command_that_does_not_start_is_reported(void **state)
{
        _Alignas(8) unsigned char message[BODY];
        size_t len = order(9, WIRE_EXEC_GROUP, "true", message);
        struct wire_exec_failed failed;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        assert_int_equal(wire_send(control, WIRE_EXEC, message, len, &control, 1), 0);
        (void)expect(WIRE_EXEC_FAILED);
        memcpy(&failed, said, sizeof failed);
        assert_int_equal(failed.exec, 9);
        assert_int_equal(failed.sys, ENOTSUP);
        assert_int_equal(end(), 0);
}

static void
many_commands_leave_nothing(void **state)
{
        char text[64];

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        for (uint32_t i = 1; i <= 200; i++) { /* more than the descriptors of the guest allow */
                struct streams s = start(i, "echo x");

                (void)expect(WIRE_EXEC_STARTED);
                (void)ended_of(i);
                assert_int_equal(read_all(s.out, text, sizeof text), 2);
                close_streams(&s);
        }
        assert_int_equal(end(), 0);
}

static void
a_guest_that_dies_closes_the_control_socket(void **state)
{
        struct wire_message m;
        struct streams s;

        (void)state;
        begin(1);
        (void)expect(WIRE_BOX_READY);
        s = start(1, "kill -9 $PPID; sleep 1000"); /* its reaper */
        (void)expect(WIRE_EXEC_STARTED);
        (void)ended_of(1);
        assert_int_equal(kill(guest_pid, SIGKILL), 0);
        while (wire_receive(control, 1, &m, said, sizeof said) > 0)
                assert_int_equal(m.kind, WIRE_IDLE);
        close_streams(&s);
        assert_int_equal(end(), 0);
}

/* -- with a guest that lies -------------------------------------------------------------------- */

/* In one piece: the relay may end the stream as soon as it has seen the head. */
static void
say(uint16_t kind, const void *body, uint32_t len)
{
        uint8_t frame[STREAM_HEAD + BODY];

        assert_true(len <= BODY);
        stream_frame_write(&(struct stream_frame){ STREAM_MESSAGE, 0, kind, 0, len }, frame);
        if (len > 0)
                memcpy(frame + STREAM_HEAD, body, len);
        assert_int_equal(write(stream, frame, STREAM_HEAD + len), STREAM_HEAD + len);
}

static void
greet(void)
{
        uint8_t greeting[STREAM_GREETING];

        stream_greeting_write(greeting);
        assert_int_equal(write(stream, greeting, sizeof greeting), sizeof greeting);
}

/* R1: each row is said by a guest that is ready, and was asked for no command. */
static void
what_nobody_asked_for_ends_the_sandbox(void **state)
{
        static const struct {
                uint16_t kind;
                uint32_t len;
        } rows[] = {
                { WIRE_EXEC_STARTED, sizeof(struct wire_exec_number) },
                { WIRE_EXEC_ENDED, sizeof(struct wire_exec_ended) },
                { WIRE_EXEC_FAILED, sizeof(struct wire_exec_failed) },
                { WIRE_CONNECTED, sizeof(struct wire_connected) },
                { WIRE_BOX_READY, 0 },
                { WIRE_SIGNAL, sizeof(struct wire_exec_number) },
                { WIRE_WALL, 8 },
        };
        static const unsigned char zeros[BODY];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct wire_message m;

                begin(0);
                greet();
                say(WIRE_BOX_READY, NULL, 0);
                (void)expect(WIRE_BOX_READY);
                say(rows[i].kind, zeros, rows[i].len);
                if (wire_receive(control, 1, &m, said, sizeof said) != 0)
                        fail_msg("kind %u was passed on", rows[i].kind);
                assert_int_equal(end(), EPROTO);
        }
}

static void
a_failed_step_has_its_number_in_the_plan(void **state)
{
        struct wire_failed failed = { 2, EPERM };

        (void)state;
        begin(0);
        greet();
        say(WIRE_BOX_FAILED, &failed, sizeof failed);
        (void)expect(WIRE_BOX_FAILED);
        memcpy(&failed, said, sizeof failed);
        assert_int_equal(failed.step, 12);
        assert_int_equal(failed.sys, EPERM);
        assert_int_equal(end(), 0);
}

static void
another_version_is_refused(void **state)
{
        uint8_t greeting[STREAM_GREETING];
        struct wire_message m;

        (void)state;
        begin(0);
        stream_greeting_write(greeting);
        greeting[8]++;
        assert_int_equal(write(stream, greeting, sizeof greeting), sizeof greeting);
        assert_int_equal(wire_receive(control, 1, &m, said, sizeof said), 0);
        assert_int_equal(end(), EPROTONOSUPPORT);
}

static void
a_guest_that_ends_before_it_is_ready_is_reported(void **state)
{
        struct wire_message m;

        (void)state;
        begin(0);
        greet();
        assert_int_equal(shutdown(stream, SHUT_RDWR), 0);
        assert_int_equal(wire_receive(control, 1, &m, said, sizeof said), 0);
        assert_int_equal(end(), ECONNRESET);
}

static void
what_the_guest_cannot_do_without_ends_it(void **state)
{
        struct wire_message m;
        int ends[2];

        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        alive = ends[0];
        begin(1);
        (void)expect(WIRE_BOX_READY);
        assert_int_equal(write(ends[1], "x", 1), 1); /* as its end: the relay looks */
        while (wire_receive(control, 1, &m, said, sizeof said) > 0)
                assert_int_equal(m.kind, WIRE_IDLE);
        assert_int_equal(end(), 0);
        alive = -1;
        (void)close(ends[0]);
        (void)close(ends[1]);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_command_runs),
                cmocka_unit_test(output_comes_before_the_end),
                cmocka_unit_test(all_output_comes_before_the_end),
                cmocka_unit_test(the_end_waits_for_a_reader_that_reads),
                cmocka_unit_test(a_reader_that_does_not_read_holds_up_nobody),
                cmocka_unit_test(a_kill_ends_the_tree),
                cmocka_unit_test(a_command_that_does_not_start_is_reported),
                cmocka_unit_test(many_commands_leave_nothing),
                cmocka_unit_test(a_guest_that_dies_closes_the_control_socket),
                cmocka_unit_test(what_nobody_asked_for_ends_the_sandbox),
                cmocka_unit_test(a_failed_step_has_its_number_in_the_plan),
                cmocka_unit_test(another_version_is_refused),
                cmocka_unit_test(a_guest_that_ends_before_it_is_ready_is_reported),
                cmocka_unit_test(what_the_guest_cannot_do_without_ends_it),
        };

        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        (void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
