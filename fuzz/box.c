/*
 * fuzz/box.c - any keeper, any caller and any command, in any order, against the parts of a box
 * process.
 *
 * The bytes are a script: each step is an opcode, a number and, for some, a run of bytes. The
 * engine is this file. Beyond not crashing: what a caller is sent is a stream of whole frames in
 * order, with at most one end, which channel_reader_next() holds.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/engine_unit.h"
#include "box/exec.h"
#include "box/keeper.h"
#include "box/state.h"

enum { CALLERS = 4, PIPES = 8, EXECS = 6, TURNS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct caller {
        int fd;
        struct channel_reader reader;
};

static struct box b;
static struct caller callers[CALLERS];
static struct noted noted; /* an engine that is asked to end, and is slow */
static int keeper, pipes[PIPES];
static struct loop_timer tick;

static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
pair_open(int type, int ret[2])
{
        must(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret) == 0);
}

static int directory = -1;
static char name[] = "/tmp/carrel-fuzz-XXXXXX";

static void
remove_directory(void)
{
        (void)unlinkat(directory, "journal", 0);
        (void)rmdir(name);
}

static void
begin(void)
{
        int pair[2];

        if (directory < 0) {
                struct sigaction ignored = { .sa_handler = SIG_IGN };

                must(sigaction(SIGPIPE, &ignored, NULL) == 0); /* blocked in a box process */
                must(mkdtemp(name) != NULL);
                directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                must(directory >= 0 && atexit(remove_directory) == 0);
        }
        memset(&b, 0, sizeof b);
        must(loop_new(&b.loop) == 0);
        b.directory = directory;
        b.begin.keep_bytes = 8192;
        b.begin.deadline_ms = BOX_NEVER;
        b.state = BOX_RUNNING;
        noted_init(&noted);
        b.engine = &noted.engine;
        b.calls = &box_calls;
        b.deadline.due_ms = b.floor.due_ms = b.late.due_ms = tick.due_ms = LOOP_NEVER;
        b.protocol = BOX_PROTOCOL;
        (void)journal_open(&b.journal, directory, b.protocol);
        pair_open(SOCK_SEQPACKET, pair);
        must(keeper_accept(&b, pair[0]) == 0);
        keeper = pair[1];
        for (int i = 0; i < CALLERS; i++)
                callers[i].fd = -1;
        for (int i = 0; i < PIPES; i++)
                pipes[i] = -1;
}

static void
close_one(int *fd)
{
        if (*fd >= 0)
                (void)close(*fd);
        *fd = -1;
}

static void
end(void)
{
        while (b.execs)
                exec_free(b.execs);
        while (b.keepers)
                keeper_drop(b.keepers);
        noted_drop(&noted);
        journal_close(&b.journal);
        for (int i = 0; i < CALLERS; i++)
                close_one(&callers[i].fd);
        for (int i = 0; i < PIPES; i++)
                close_one(&pipes[i]);
        close_one(&keeper);
        loop_free(b.loop);
}

static void
nothing(struct loop_timer *t)
{
        (void)t;
}

/* What was said to callers, to the engine and to the keeper is taken. */
static void
listen_all(void)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        struct wire_message m;

        for (int i = 0; i < CALLERS; i++) {
                const unsigned char *at = body;
                struct channel_piece piece;
                ssize_t got = callers[i].fd >= 0
                                      ? recv(callers[i].fd, body, sizeof body, MSG_DONTWAIT)
                                      : -1;
                size_t len = got > 0 ? (size_t)got : 0;
                int result = 1;

                while (len > 0 &&
                       (result = channel_reader_next(&callers[i].reader, &at, &len, &piece)) == 1)
                        continue;
                must(result >= 0);
                if (got == 0) {
                        must(channel_reader_is_between(&callers[i].reader));
                        close_one(&callers[i].fd);
                }
        }
        for (int i = 1; i < 3; i++) /* the last command's standard output and error */
                for (int p = 0; p < PIPES && noted.fds[i] >= 0; p++)
                        if (pipes[p] < 0) {
                                pipes[p] = noted.fds[i];
                                (void)fcntl(pipes[p], F_SETFL, O_NONBLOCK);
                                noted.fds[i] = -1;
                        }
        noted_drop(&noted);
        while (keeper >= 0 && wire_receive(keeper, 0, &m, body, sizeof body) == 1)
                wire_message_close(&m);
}

static void
turn(void)
{
        for (int i = 0; i < TURNS; i++) {
                (void)loop_timer_set(b.loop, &tick, 0, nothing);
                loop_turn(b.loop);
        }
}

static int
new_caller(unsigned number)
{
        struct caller *c = &callers[number % CALLERS];
        int pair[2];

        close_one(&c->fd);
        pair_open(SOCK_STREAM, pair);
        c->fd = pair[0];
        channel_reader_init(&c->reader, CHANNEL_FROM_BOX);
        return pair[1];
}

static void
ask_exec(unsigned number, const uint8_t *bytes, size_t len)
{
        static _Alignas(
                8) unsigned char body[sizeof(struct wire_box_exec) + sizeof(struct wire_exec) + 64];
        struct wire_box_exec ask = { .flags = number & 31u,
                                     .exec = number % 3 == 0 ? 0 : number % EXECS,
                                     .deadline_ms = BOX_NEVER,
                                     .timeout_ms = number & 32u ? 0 : BOX_NEVER,
                                     .cpu_ms = BOX_NEVER,
                                     .output_bytes = number & 64u ? 1000 : BOX_NEVER };
        struct wire_exec wire = { .argc = 1,
                                  .flags = number & 128u ? WIRE_EXEC_TTY : 0u,
                                  .strings_len = (uint32_t)(len < 60 ? len : 60) + 1 };
        int fd = new_caller(number);

        ask.key[0] = number & 8u ? (char)('a' + number % 3) : '\0';
        memset(body, 0, sizeof body);
        memcpy(body, &ask, sizeof ask);
        memcpy(body + sizeof ask, &wire, sizeof wire);
        if (len > 0)
                memcpy(body + sizeof ask + sizeof wire, bytes, len < 60 ? len : 60);
        if (keeper >= 0)
                (void)wire_send(keeper, WIRE_BOX_EXEC, body,
                                sizeof ask + sizeof wire + wire.strings_len, &fd, 1);
        (void)close(fd);
}

static void
ask_attach(unsigned number)
{
        struct wire_box_attach ask = { number % EXECS, number & BOX_EXEC_LOSSLESS, 0, 0 };
        int fd = new_caller(number);

        if (keeper >= 0)
                (void)wire_send(keeper, WIRE_BOX_ATTACH, &ask, sizeof ask, &fd, 1);
        (void)close(fd);
}

static void
engine_says(unsigned number)
{
        struct exec *x = exec_find(&b, number % EXECS);

        if (!x || !x->is_sent)
                return;
        if ((number & 48u) == 0)
                exec_failed(x, &(struct wire_exec_failed){ x->number, 2, WIRE_STAGE_LOOKUP });
        else if ((number & 48u) == 16)
                exec_started(x, 7, -1);
        else
                exec_ended(x,
                           &(struct engine_ended){ .code = number & 64u ? CLD_EXITED : CLD_KILLED,
                                                   .status = 9 });
}

static void
step(unsigned op, unsigned number, const uint8_t *bytes, size_t len)
{
        switch (op % 9) {
        case 0:
                ask_exec(number, bytes, len);
                break;
        case 1:
                ask_attach(number);
                break;
        case 2:
                engine_says(number);
                break;
        case 3:
                if (callers[number % CALLERS].fd >= 0)
                        (void)send(callers[number % CALLERS].fd, bytes, len,
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
                break;
        case 4:
                close_one(&callers[number % CALLERS].fd);
                break;
        case 5:
                for (int i = 0; pipes[number % PIPES] >= 0 && i < 1 + (int)(number / PIPES); i++)
                        (void)!write(pipes[number % PIPES], bytes, len);
                break;
        case 6:
                close_one(&pipes[number % PIPES]);
                break;
        case 7:
                if (keeper >= 0)
                        (void)wire_send(keeper, (uint16_t)(WIRE_BOX_HELLO + number % 20), bytes,
                                        len, NULL, 0);
                break;
        default:
                listen_all();
                break;
        }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        begin();
        while (len >= 3) {
                size_t part = data[2] < len - 3 ? data[2] : len - 3;

                step(data[0], data[1], data + 3, part);
                turn();
                data += 3 + part;
                len -= 3 + part;
        }
        listen_all();
        end();
        return 0;
}
