/*
 * bench/live.c - what one command in a living sandbox costs: bare, at its box, through the keeper,
 * over HTTP.
 *
 * Room: none (a measuring tool). Touches: processes, sockets.
 * Theory: every mode runs the same program the same number of times, one after the other, and waits
 * for its end and for the end of its output; a line with each time in microseconds goes to standard
 * output. The bare mode is the floor: a pid 1 of its own in namespaces of its own, told over a
 * socket what to start, with one pipe for the output, and nothing of Carrel in it.
 *
 * Two more modes are the kernel's part of what the aims ask for. They do only what every supervised
 * command needs: a supervisor between caller and pid 1, three pipes, a control group, a message
 * when the program has started and one when it has ended. `claimed` has a broker before that, which
 * answers an empty call first. GROUP is the cgroup.procs of a v2 group.
 *
 *     live bare COUNT PROGRAM
 *     live rested COUNT PROGRAM             after as long a pause as pool and client make
 *     live relayed GROUP COUNT PROGRAM      with a supervisor
 *     live claimed GROUP COUNT PROGRAM      with a supervisor and a broker, after that pause
 *     live box SOCKET COUNT PROGRAM         the box's own socket: what the keeper pays
 *     live keeper SOCKET ID COUNT PROGRAM   a call, as the command line makes it
 *     live later SOCKET ID COUNT PROGRAM    the same, each after a fifth of a second of nothing
 *     live http SOCKET ID COUNT PROGRAM     the same over HTTP/1.1, one connection kept
 *     live pool SOCKET COUNT                create, from the pool, and `true` in it: two calls of a
 *                                           client that is connected
 *     live client SOCKET COUNT              the same by a process that is started for it, until it
 *                                           has ended
 *     live flood SOCKET ID BYTES            bytes a second from `head -c BYTES /dev/zero` to this
 *                                           process
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/operation.h"
#include "wire/box.h"
#include "wire/call.h"

enum { ROOM = 64 * 1024, STACK = 64 * 1024, POOL_PAUSE_US = 20000 };

static _Alignas(8) char body[ROOM];
static char bytes[1 << 20];

static _Noreturn void
broken(const char *what)
{
        (void)fprintf(stderr, "live: %s: %s\n", what, strerror(errno));
        exit(1);
}

static uint64_t
now_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int
connect_to(const char *path, int type)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        if (fd < 0 || strlen(path) >= sizeof address.sun_path)
                broken("a socket");
        memcpy(address.sun_path, path, strlen(path) + 1);
        if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
                broken(path);
        return fd;
}

/* -- bare
 * --------------------------------------------------------------------------------------------------------
 */

static char *program[2];
static _Alignas(16) char stack[STACK];

static int
start_program(void *pipe_end)
{
        (void)dup2(*(const int *)pipe_end, 1);
        (void)execve(program[0], program, (char *[]){ NULL });
        _exit(127);
}

/* pid 1 of the bare box: a datagram with a descriptor begins a command, a datagram with its status
 * ends it. */
static _Noreturn void
bare_guest(int control)
{
        for (;;) {
                struct wire_message m;
                int status = 0;
                pid_t pid;

                if (wire_receive(control, 1, &m, body, sizeof body) <= 0)
                        _exit(0);
                pid = clone(start_program, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                            &m.fds[0]);
                wire_message_close(&m);
                (void)waitpid(pid, &status, 0);
                if (status != 0)
                        broken(program[0]);
                (void)wire_send(control, WIRE_EXEC_ENDED, &status, sizeof status, NULL, 0);
        }
}

static int
bare_begin(void (*serve)(int control))
{
        int pair[2];
        long pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                broken("socketpair");
        pid = syscall(SYS_clone,
                      (geteuid() == 0 ? 0L : (long)CLONE_NEWUSER) | CLONE_NEWPID | CLONE_NEWNS |
                              CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD,
                      NULL, NULL, NULL, NULL);
        if (pid < 0)
                broken("clone");
        if (pid == 0) {
                (void)close(pair[0]);
                serve(pair[1]);
        }
        (void)close(pair[1]);
        return pair[0];
}

static void
bare_once(int control)
{
        struct wire_message m;
        int ends[2];

        if (pipe(ends) < 0)
                broken("pipe");
        if (wire_send(control, WIRE_EXEC, NULL, 0, &ends[1], 1) < 0)
                broken("sending");
        (void)close(ends[1]);
        while (read(ends[0], bytes, sizeof bytes) > 0)
                continue;
        if (wire_receive(control, 1, &m, body, sizeof body) != 1)
                broken("waiting");
        (void)close(ends[0]);
}

/* -- the kernel's part --------------------------------------------------------------------------
 */

static int group = -1;

static int
start_supervised(void *streams)
{
        const int *fds = streams;

        if (write(group, "0", 1) != 1 || setsid() < 0)
                _exit(126);
        for (int i = 0; i < 3; i++)
                (void)dup2(fds[i], i);
        (void)execve(program[0], program, (char *[]){ NULL });
        _exit(127);
}

/* pid 1 that also says when the program has started. */
static _Noreturn void
supervised_guest(int control)
{
        struct wire_message m;

        while (wire_receive(control, 1, &m, body, sizeof body) > 0) {
                int status = 0;
                pid_t pid = clone(start_supervised, stack + sizeof stack,
                                  CLONE_VM | CLONE_VFORK | SIGCHLD, m.fds);

                wire_message_close(&m);
                (void)wire_send(control, WIRE_EXEC_STARTED, NULL, 0, NULL, 0);
                (void)waitpid(pid, &status, 0);
                if (status != 0)
                        broken(program[0]);
                (void)wire_send(control, WIRE_EXEC_ENDED, NULL, 0, NULL, 0);
        }
        _exit(0);
}

/* The same with a child that waits in its group: after a pause the kernel takes 10 ms for joining.
 */
static _Noreturn void
waiting_child(int control)
{
        struct wire_message m;

        if (write(group, "0", 1) != 1 || setsid() < 0 ||
            wire_receive(control, 1, &m, body, sizeof body) <= 0)
                _exit(126);
        for (int i = 0; i < 3; i++)
                (void)dup2(m.fds[i], i);
        (void)execve(program[0], program, (char *[]){ NULL });
        _exit(127);
}

static _Noreturn void
preforked_guest(int control)
{
        struct wire_message m;

        for (;;) {
                int pair[2], status = 0;
                pid_t pid;

                if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                        broken("socketpair");
                pid = fork();
                if (pid == 0)
                        waiting_child(pair[1]);
                (void)close(pair[1]);
                if (wire_receive(control, 1, &m, body, sizeof body) <= 0)
                        _exit(0);
                (void)wire_send(pair[0], WIRE_EXEC, NULL, 0, m.fds, 3);
                wire_message_close(&m);
                (void)!read(pair[0], &status, 1); /* its end closes as the program starts */
                (void)wire_send(control, WIRE_EXEC_STARTED, NULL, 0, NULL, 0);
                (void)waitpid(pid, &status, 0);
                if (status != 0)
                        broken(program[0]);
                (void)wire_send(control, WIRE_EXEC_ENDED, NULL, 0, NULL, 0);
                (void)close(pair[0]);
        }
}

/* Makes the streams, and passes on to the caller's socket what pid 1 says. */
static _Noreturn void
supervise(int control, int guest)
{
        struct wire_message order, m;

        while (wire_receive(control, 1, &order, body, sizeof body) > 0) {
                int in[2], out[2], err[2];

                if (pipe(in) < 0 || pipe(out) < 0 || pipe(err) < 0 ||
                    wire_send(guest, WIRE_EXEC, NULL, 0, (int[]){ in[0], out[1], err[1] }, 3) < 0)
                        broken("a supervisor");
                for (int said = 0; said < 2 && wire_receive(guest, 1, &m, body, sizeof body) > 0;
                     said++)
                        (void)wire_send(order.fds[0], m.kind, NULL, 0, NULL, 0);
                for (int i = 0; i < 2; i++)
                        (void)(close(in[i]) | close(out[i]) | close(err[i]));
                wire_message_close(&order);
        }
        _exit(0);
}

/* Answers an empty call, and passes on one with a descriptor. */
static _Noreturn void
broker(int control, int supervisor)
{
        struct wire_message m;

        while (wire_receive(control, 1, &m, body, sizeof body) > 0) {
                if (m.fd_count == 0)
                        (void)wire_send(control, m.kind, NULL, 0, NULL, 0);
                else
                        (void)wire_send(supervisor, m.kind, NULL, 0, m.fds, 1);
                wire_message_close(&m);
        }
        _exit(0);
}

/* A process that serves the other end of the socket it returns. */
static int
begin_with(void (*serve)(int control, int next), int next)
{
        int pair[2];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || (pid = fork()) < 0)
                broken("a process");
        if (pid == 0) {
                (void)close(pair[0]);
                serve(pair[1], next);
        }
        (void)close(pair[1]);
        return pair[0];
}

static int
relayed_begin(const char *group_path, int is_claimed)
{
        int supervisor;

        group = open(group_path, O_WRONLY | O_CLOEXEC);
        if (group < 0)
                broken(group_path);
        supervisor =
                begin_with(supervise, bare_begin(is_claimed ? preforked_guest : supervised_guest));
        return is_claimed ? begin_with(broker, supervisor) : supervisor;
}

static void
relayed_once(int control, int is_claimed)
{
        struct wire_message m;
        int pair[2];

        if (is_claimed && (wire_send(control, WIRE_CALL, NULL, 0, NULL, 0) < 0 ||
                           wire_receive(control, 1, &m, body, sizeof body) != 1))
                broken("a broker");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
            wire_send(control, WIRE_EXEC, NULL, 0, &pair[1], 1) < 0)
                broken("sending");
        (void)close(pair[1]);
        do {
                if (wire_receive(pair[0], 1, &m, body, sizeof body) != 1)
                        broken("waiting");
        } while (m.kind != WIRE_EXEC_ENDED);
        (void)close(pair[0]);
}

/* -- the channel
 * ---------------------------------------------------------------------------------------------------
 */

static void
read_all(int fd, void *out, size_t len)
{
        size_t at = 0;

        while (at < len) {
                ssize_t got = read(fd, (char *)out + at, len - at);

                if (got <= 0)
                        broken("reading a channel");
                at += (size_t)got;
        }
}

/* To the END frame; gives the bytes of output. */
static uint64_t
channel_drain(int channel)
{
        struct channel_frame frame;
        uint64_t output = 0;

        for (;;) {
                read_all(channel, &frame, sizeof frame);
                if (frame.len > sizeof bytes)
                        broken("a frame");
                read_all(channel, bytes, frame.len);
                if (frame.kind == CHANNEL_FAILED)
                        broken("the command did not start");
                if (frame.kind == CHANNEL_STDOUT)
                        output += frame.len;
                if (frame.kind == CHANNEL_END)
                        return output;
        }
}

/* -- at the box
 * ----------------------------------------------------------------------------------------------------
 */

static void
box_once(int box)
{
        struct {
                struct wire_box_exec box;
                struct wire_exec exec;
                char strings[512];
        } call;
        struct wire_message m;
        size_t len = strlen(program[0]) + 1;
        int pair[2], ends = 0;

        memset(&call, 0, sizeof call);
        call.box = (struct wire_box_exec){ .flags = BOX_EXEC_NO_STDIN,
                                           .deadline_ms = UINT64_MAX,
                                           .timeout_ms = UINT64_MAX,
                                           .cpu_ms = UINT64_MAX,
                                           .output_bytes = UINT64_MAX };
        call.exec = (struct wire_exec){ .argc = 1, .strings_len = (uint32_t)len + 2 };
        memcpy(call.strings, program[0], len);
        memcpy(call.strings + len, "/", 2);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
            wire_send(box, WIRE_BOX_EXEC, &call, sizeof call.box + sizeof call.exec + len + 2,
                      &pair[1], 1) < 0)
                broken("sending to the box");
        (void)close(pair[1]);
        (void)channel_drain(pair[0]);
        (void)close(pair[0]);
        while (ends == 0) { /* the keeper receives it too */
                if (wire_receive(box, 1, &m, body, sizeof body) != 1)
                        broken("the box");
                ends = m.kind == WIRE_BOX_FINISHED;
                wire_message_close(&m);
        }
}

static int
box_begin(const char *path)
{
        struct wire_message m;
        int box = connect_to(path, SOCK_SEQPACKET);

        do {
                if (wire_receive(box, 1, &m, body, sizeof body) != 1)
                        broken("the box");
                wire_message_close(&m);
        } while (m.kind != WIRE_BOX_READY);
        return box;
}

/* -- through the keeper
 * -------------------------------------------------------------------------------------------- */

static int
call_exec(int keeper, const char *id, int argc, const char *const *argv, int is_lossless)
{
        struct wire_call head = { 1, OP_EXEC, CALL_PROTOCOL };
        struct record_writer w;
        struct wire_message m;
        struct wire_reply reply;

        memcpy(body, &head, sizeof head);
        record_init(&w, body + sizeof head, sizeof body - sizeof head);
        record_text(&w, FIELD_ID, id);
        for (int i = 0; i < argc; i++)
                record_text(&w, FIELD_ARGV, argv[i]);
        record_bool(&w, FIELD_LOSSLESS, is_lossless);
        if (wire_send(keeper, WIRE_CALL, body, sizeof head + w.len, NULL, 0) < 0 ||
            wire_receive(keeper, 1, &m, body, sizeof body) != 1)
                broken("the keeper");
        memcpy(&reply, body, sizeof reply);
        if (m.kind != WIRE_REPLY || (reply.flags & REPLY_ERROR) != 0 || m.fd_count != 1)
                broken("the keeper refused");
        return m.fds[0];
}

static void
keeper_once(int keeper, const char *id)
{
        int channel = call_exec(keeper, id, 1, (const char *const *)program, 0);

        (void)channel_drain(channel);
        (void)close(channel);
}

static void
flood(const char *path, const char *id, const char *count)
{
        const char *const argv[] = { "head", "-c", count, "/dev/zero" };
        uint64_t start = now_ns(), got;
        int channel = call_exec(connect_to(path, SOCK_SEQPACKET), id, 4, argv, 1);

        got = channel_drain(channel);
        if (got != strtoull(count, NULL, 10))
                broken("bytes were lost");
        (void)printf("%.0f\n", (double)got / ((double)(now_ns() - start) / 1e9));
}

/* -- a sandbox from the pool
 * ---------------------------------------------------------------------------------------- */

/* One call with at most one text field; the answer lies in `body`. */
static void
call_simple(int keeper, uint16_t op, uint16_t tag, const char *text, struct record *ret)
{
        struct wire_call head = { 1, op, CALL_PROTOCOL };
        struct record_writer w;
        struct wire_message m;
        struct wire_reply reply;

        memcpy(body, &head, sizeof head);
        record_init(&w, body + sizeof head, sizeof body - sizeof head);
        if (text)
                record_text(&w, tag, text);
        if (wire_send(keeper, WIRE_CALL, body, sizeof head + w.len, NULL, 0) < 0 ||
            wire_receive(keeper, 1, &m, body, sizeof body) != 1)
                broken("the keeper");
        memcpy(&reply, body, sizeof reply);
        if (m.kind != WIRE_REPLY || (reply.flags & REPLY_ERROR) != 0)
                broken("the keeper refused");
        *ret = (struct record){ (const unsigned char *)body + sizeof reply, m.len - sizeof reply };
}

static void
pool_wait(int keeper)
{
        struct record answer;

        do {
                (void)usleep(POOL_PAUSE_US);
                call_simple(keeper, OP_INFO, 0, NULL, &answer);
        } while (record_get_uint(&answer, FIELD_POOL, 0) == 0);
        (void)usleep(POOL_PAUSE_US);
}

static void
pool_once(int keeper, char id[64])
{
        static const char *const argv[] = { "/usr/bin/true" };
        struct record answer;
        int channel;

        call_simple(keeper, OP_CREATE, 0, NULL, &answer);
        (void)snprintf(id, 64, "%s", record_get_text(&answer, FIELD_ID, ""));
        channel = call_exec(keeper, id, 1, argv, 0);
        (void)channel_drain(channel);
        (void)close(channel);
}

/* What a client is: a process that connects, asks, and ends; it says the id for the one that clears
 * up. */
static void
client_once(const char *socket_path)
{
        char id[64];

        pool_once(connect_to(socket_path, SOCK_SEQPACKET), id);
        (void)!write(1, id, strlen(id));
}

static void
client_start(const char *socket_path, char id[64])
{
        char *argv[] = { (char *)(uintptr_t) "live", (char *)(uintptr_t) "once",
                         (char *)(uintptr_t)socket_path, NULL };
        posix_spawn_file_actions_t actions;
        int ends[2], status = 1;
        ssize_t len;
        pid_t pid;

        if (pipe(ends) < 0 || posix_spawn_file_actions_init(&actions) != 0 ||
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1) != 0 ||
            posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, (char *[]){ NULL }) != 0)
                broken("a client");
        (void)waitpid(pid, &status, 0);
        len = status == 0 ? read(ends[0], id, 63) : -1;
        if (len <= 0)
                broken("a client");
        id[len] = '\0';
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)posix_spawn_file_actions_destroy(&actions);
}

static void
pool(const char *socket_path, int count, int is_process)
{
        int keeper = connect_to(socket_path, SOCK_SEQPACKET);
        struct record answer;

        for (int i = 0; i < count; i++) {
                uint64_t start;
                char id[64];

                pool_wait(keeper);
                start = now_ns();
                if (is_process)
                        client_start(socket_path, id);
                else
                        pool_once(keeper, id);
                (void)printf("%.1f\n", (double)(now_ns() - start) / 1e3);
                call_simple(keeper, OP_STOP, FIELD_ID, id, &answer);
        }
}

/* -- over HTTP
 * ------------------------------------------------------------------------------------------------------
 */

static void
http_once(int http, const char *id)
{
        char json[600], *end;
        size_t len = 0, head;
        int said;

        (void)snprintf(json, sizeof json, "{\"argv\":[\"%s\"]}", program[0]);
        said = snprintf(body, sizeof body,
                        "POST /v1/sandboxes/%s/execs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/json\r\n"
                        "Content-Length: %zu\r\n\r\n%s",
                        id, strlen(json), json);
        if (write(http, body, (size_t)said) != said)
                broken("writing a request");
        for (;;) {
                ssize_t got = read(http, bytes + len, sizeof bytes - 1 - len);

                if (got <= 0)
                        broken("reading an answer");
                len += (size_t)got;
                bytes[len] = '\0';
                end = strstr(bytes, "\r\n\r\n");
                if (!end)
                        continue;
                head = (size_t)(end - bytes) + 4;
                end = strcasestr(bytes, "\r\ncontent-length:");
                if (!end || strncmp(bytes, "HTTP/1.1 200", 12) != 0)
                        broken("an answer");
                if (len >= head + strtoull(end + 17, NULL, 10))
                        return;
        }
}

int
main(int argc, char **argv)
{
        const char *mode = argc > 1 ? argv[1] : "", *id = NULL;
        int at = 2, fd = -1, count;

        if (strcmp(mode, "flood") == 0 && argc == 5) {
                flood(argv[2], argv[3], argv[4]);
                return 0;
        }
        if (strcmp(mode, "once") == 0 && argc == 3) {
                client_once(argv[2]);
                return 0;
        }
        if (argc == 4 && (strcmp(mode, "pool") == 0 || strcmp(mode, "client") == 0)) {
                pool(argv[2], (int)strtol(argv[3], NULL, 10), mode[0] == 'c');
                return 0;
        }
        program[0] = argc > 2 ? argv[argc - 1] : NULL;
        if (strcmp(mode, "bare") == 0 || strcmp(mode, "rested") == 0)
                fd = bare_begin(bare_guest);
        else if (argc == 5 && (strcmp(mode, "relayed") == 0 || strcmp(mode, "claimed") == 0))
                fd = relayed_begin(argv[at++], mode[0] == 'c');
        else if (strcmp(mode, "box") == 0 && argc > 2)
                fd = box_begin(argv[at++]);
        else if (argc > 3 && (strcmp(mode, "keeper") == 0 || strcmp(mode, "later") == 0 ||
                              strcmp(mode, "http") == 0))
                fd = connect_to(argv[at++], mode[0] == 'h' ? SOCK_STREAM : SOCK_SEQPACKET),
                id = argv[at++];
        if (fd < 0 || argc != at + 2) {
                (void)fputs("usage: see the head of bench/live.c\n", stderr);
                return 2;
        }
        count = (int)strtol(argv[at], NULL, 10);
        for (int i = 0; i < count; i++) {
                uint64_t start;

                if (mode[0] == 'l' || mode[0] == 'c' || strcmp(mode, "rested") == 0)
                        (void)usleep(mode[0] == 'l' ? 200000 : 2 * POOL_PAUSE_US);
                start = now_ns();
                if (mode[0] == 'c' || strcmp(mode, "relayed") == 0)
                        relayed_once(fd, mode[0] == 'c');
                else if (mode[0] == 'r' || (mode[0] == 'b' && mode[1] == 'a'))
                        bare_once(fd);
                else if (mode[0] == 'b')
                        box_once(fd);
                else if (mode[0] == 'h')
                        http_once(fd, id);
                else
                        keeper_once(fd, id);
                (void)printf("%.1f\n", (double)(now_ns() - start) / 1e3);
        }
        return 0;
}
