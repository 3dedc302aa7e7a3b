/*
 * box/bridge/bridge.c - the engine of sandboxes elsewhere.
 *
 * Room: box/bridge (program). Touches: fd, carrel-bridge by messages, the engine that isolates it.
 *
 *     making --ready--> ready: carrel-bridge is executed --its end--> lost
 *                         |
 *                         '--end()--> hanging up: it kills the sandbox elsewhere --its end, or
 *                                     5 s--> the engine within ends --> gone
 *
 * Theory: the box's jobs never reach the engine within, which has one job, carrel-bridge. Nothing
 * of the provider's can be counted, frozen or attributed here, so no ability is claimed.
 */
#include "box/bridge/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/engine.h"
#include "box/holder.h"
#include "wire/queue.h"

enum { QUEUE_MAX = 16 << 20, BODY_ROOM = 4096, HANG_UP_MS = 5000, RELAY = 1 };

struct bridge {
        struct engine engine; /* first: the box's view */
        struct engine *within;
        struct loop *loop;
        struct loop_watch relay;
        struct wire_queue to_relay;
        struct loop_timer late;
        struct job itself; /* carrel-bridge, of the engine within */
        struct job *jobs;
        int program, socket, far; /* far: the end of carrel-bridge, until it has it */
        unsigned is_running, is_ending, is_gone;
        unsigned is_pausing, is_paused; /* asked for, and not answered; answered */
        unsigned stale;                 /* answers to pauses that nobody waits for any more */
};

static struct bridge bridge_only;

static struct bridge *
bridge_of(struct engine *e)
{
        return (struct bridge *)(void *)e;
}

static void
lose(struct bridge *b)
{
        if (!b->is_ending)
                b->engine.news->lost(b->engine.box);
}

/* -- carrel-bridge ----------------------------------------------------------------------------- */

static void
say(struct bridge *b, uint16_t kind, const void *body, size_t len, const int *fds, size_t count)
{
        if (b->socket < 0)
                return;
        if (wire_queue_lend(&b->to_relay, kind, body, len, fds, count) < 0)
                lose(b);
        (void)loop_watch_change(&b->relay, EPOLLIN | (b->to_relay.first ? (uint32_t)EPOLLOUT : 0u));
}

static void
say_number(struct bridge *b, uint16_t kind, uint32_t exec, int32_t number)
{
        say(b, kind, &(struct wire_exec_number){ exec, number }, sizeof(struct wire_exec_number),
            NULL, 0);
}

/* This side of a command's terminal, until it has started; -1: none. */
static int
take_terminal(struct job *t)
{
        int fd = t->place ? (int)(intptr_t)t->place - 1 : -1;

        t->place = NULL;
        return fd;
}

static void
end_job(struct bridge *b, struct job *t)
{
        int terminal = take_terminal(t);

        if (terminal >= 0)
                (void)close(terminal);
        if (t->next)
                t->next->previous = t->previous;
        if (t->previous)
                t->previous->next = t->next;
        else
                b->jobs = t->next;
        t->engine = NULL;
}

static void
hear_ended(struct bridge *b, struct job *t, const struct wire_exec_ended *said)
{
        const struct engine_ended ended = { .code = said->code == CLD_EXITED ? CLD_EXITED
                                                                             : CLD_KILLED,
                                            .status = said->status & 0xff,
                                            .cpu_us = 0 };

        b->engine.news->ended(b->engine.box, t, &ended);
}

/*
 * The address of a port goes on as the content of a pipe, where another engine gives a connection.
 * It fits into the pipe.
 */
static void
hear_url(struct bridge *b, const struct wire_message *m, const void *body)
{
        size_t len = m->len - sizeof(struct wire_connected);
        const char *text = (const char *)body + sizeof(struct wire_connected);
        struct wire_connected answer;
        int ends[2] = { -1, -1 };

        memcpy(&answer, body, sizeof answer);
        if (answer.sys == 0 && (len == 0 || len > WIRE_URL_MAX))
                answer.sys = EPROTO;
        if (answer.sys == 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                answer.sys = errno;
        if (answer.sys == 0 && write(ends[1], text, len) != (ssize_t)len)
                answer.sys = EIO;
        if (ends[1] >= 0)
                (void)close(ends[1]);
        if (answer.sys != 0 && ends[0] >= 0) {
                (void)close(ends[0]);
                ends[0] = -1;
        }
        b->engine.news->connected(b->engine.box, &answer, ends[0]);
}

static void
hear_paused(struct bridge *b, int sys)
{
        if (b->stale > 0) {
                b->stale--;
        } else if (b->is_pausing) {
                b->is_pausing = 0;
                b->is_paused = sys == 0;
                b->engine.news->frozen(b->engine.box, sys);
        }
}

static void
hear_message(struct bridge *b, const struct wire_message *m, const void *body)
{
        struct wire_exec_number number;
        struct wire_exec_failed failed;
        struct wire_exec_ended ended;
        struct job *t = b->jobs;

        if (m->kind == WIRE_CONNECTED && m->len >= sizeof(struct wire_connected)) {
                hear_url(b, m, body);
                return;
        }
        if (m->len < sizeof number)
                return;
        memcpy(&number, body, sizeof number); /* each begins with the number of the command */
        if (m->kind == WIRE_BOX_FROZEN && m->len == sizeof number) {
                hear_paused(b, number.number);
                return;
        }
        while (t && t->number != number.exec)
                t = t->next;
        if (!t || t->is_over)
                return;
        if (m->kind == WIRE_EXEC_STARTED && m->len == sizeof number && !t->is_started) {
                t->is_started = 1;
                b->engine.news->started(b->engine.box, t, number.number, take_terminal(t));
        } else if (m->kind == WIRE_EXEC_FAILED && m->len == sizeof failed && !t->is_started) {
                memcpy(&failed, body, sizeof failed);
                b->engine.news->exec_failed(b->engine.box, t, &failed);
        } else if (m->kind == WIRE_EXEC_ENDED && m->len == sizeof ended && t->is_started) {
                memcpy(&ended, body, sizeof ended);
                hear_ended(b, t, &ended);
        }
}

/* 1: handled a message; 0: none waits; -1: carrel-bridge is gone. */
static int
hear_relay(struct bridge *b)
{
        _Alignas(8) unsigned char body[BODY_ROOM];
        struct wire_message m;
        int got = b->socket < 0 ? -EAGAIN : wire_receive(b->socket, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return 0;
        if (got <= 0)
                return -1;
        hear_message(b, &m, body);
        wire_message_close(&m);
        return 1;
}

static void
forget_relay(struct bridge *b)
{
        if (b->socket < 0)
                return;
        loop_watch_remove(&b->relay);
        wire_queue_fini(&b->to_relay);
        (void)close(b->socket);
        b->socket = -1;
}

static void
relay_ready(struct loop_watch *w, uint32_t events)
{
        struct bridge *b = box_holder(w, struct bridge, relay);
        int result = (events & EPOLLOUT) != 0 ? wire_queue_flush(&b->to_relay) : 0;

        if (result == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                result = hear_relay(b);
        if (result < 0) {
                forget_relay(b);
                lose(b);
                return;
        }
        (void)loop_watch_change(&b->relay, EPOLLIN | (b->to_relay.first ? (uint32_t)EPOLLOUT : 0u));
}

/*
 * It is executed from the descriptor that it gets as its standard output, because no name inside
 * leads to it.
 */
static int
execute(struct bridge *b)
{
        static const char strings[] = "/proc/self/fd/1\0PATH=/usr/local/bin:/usr/bin:/bin\0"
                                      "HOME=/home/agent\0LANG=C.UTF-8\0/";
        struct {
                struct wire_exec head;
                char strings[sizeof strings];
        } message = { .head = { .exec = RELAY,
                                .flags = WIRE_EXEC_NO_PATH,
                                .argc = 1,
                                .envc = 3,
                                .strings_len = sizeof strings } };
        struct command c = { .wire = &message.head,
                             .len = sizeof message.head + sizeof strings,
                             .fds = { b->far, b->program, b->program },
                             .fd_count = 3,
                             .cpu_ms = UINT64_MAX };
        int result;

        memcpy(message.strings, strings, sizeof strings);
        b->itself = (struct job){ .number = RELAY };
        result = b->within->calls->exec(b->within, &b->itself, &c);
        (void)close(b->far);
        b->far = -1;
        return result;
}

/* What is sent before carrel-bridge runs waits in the socket. */
static int
link_relay(struct bridge *b)
{
        int pair[2], result;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        b->socket = pair[0];
        b->far = pair[1];
        wire_queue_init(&b->to_relay, b->socket, QUEUE_MAX, 0);
        result = fcntl(b->socket, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ? -errno : 0;
        if (result == 0)
                result = loop_watch_add(b->loop, &b->relay, b->socket, EPOLLIN, relay_ready);
        return result;
}

/* -- news of the engine within ----------------------------------------------------------------- */

static void
end_within(struct bridge *b)
{
        const struct engine_gone nothing = { 0 };

        loop_timer_remove(&b->late);
        if (b->within->calls->end(b->within) < 0 && !b->is_gone)
                b->engine.news->gone(b->engine.box, &nothing);
}

static void
within_spawned(void *of, int directory)
{
        struct bridge *b = of;

        /* what a paused sandbox is asked to kill ends when it runs again */
        b->engine.can = ENGINE_FREEZES | ENGINE_FREEZES_ALL;
        b->engine.news->spawned(b->engine.box, directory);
}

static void
within_ready(void *of)
{
        struct bridge *b = of;

        if (execute(b) < 0)
                lose(b);
        else
                b->engine.news->ready(b->engine.box);
}

static void
within_make_failed(void *of, const struct wire_failed *failed)
{
        struct bridge *b = of;

        b->engine.news->make_failed(b->engine.box, failed);
}

static void
within_started(void *of, struct job *t, int32_t pid, int take_master)
{
        struct bridge *b = of;

        (void)t, (void)pid, (void)take_master; /* it has no terminal */
        b->is_running = 1;
}

static void
relay_over(struct bridge *b)
{
        b->is_running = 0;
        while (hear_relay(b) > 0) /* its last words came before its end */
                continue;
        job_over(&b->itself);
        if (b->is_ending)
                end_within(b);
        else
                lose(b);
}

static void
within_exec_failed(void *of, struct job *t, const struct wire_exec_failed *failed)
{
        (void)t, (void)failed;
        relay_over(of);
}

static void
within_ended(void *of, struct job *t, const struct engine_ended *ended)
{
        (void)t, (void)ended;
        relay_over(of);
}

static void
within_connected(void *of, const struct wire_connected *answer, int take_socket)
{
        (void)of, (void)answer; /* nothing is asked of it */
        if (take_socket >= 0)
                (void)close(take_socket);
}

static void
within_frozen(void *of, int sys)
{
        (void)of, (void)sys;
}

static int
within_walled(void *of, struct wire_message *m, const void *body)
{
        struct bridge *b = of;

        return b->engine.news->walled(b->engine.box, m, body);
}

static void
within_listened(void *of, struct wire_message *m, const struct wire_wall_listened *answer)
{
        struct bridge *b = of;

        b->engine.news->listened(b->engine.box, m, answer);
}

static int
within_denied(void *of, struct wire_wall_denied *d)
{
        struct bridge *b = of;

        return b->engine.news->denied(b->engine.box, d);
}

/* Programs of the provider's, not of the sandbox. */
static int
within_executed(void *of, uint32_t exec, const void *executed, size_t len)
{
        (void)of, (void)exec, (void)executed, (void)len;
        return 0;
}

static void
within_kept(void *of, const struct wire_kept *kept)
{
        struct bridge *b = of;

        b->engine.news->kept(b->engine.box, kept);
}

static void
within_lost(void *of)
{
        lose(of);
}

static void
within_gone(void *of, const struct engine_gone *gone)
{
        struct bridge *b = of;
        struct engine_gone told = *gone;

        b->is_gone = 1;
        told.has_usage = 0; /* what the provider's program used, not the sandbox */
        b->engine.news->gone(b->engine.box, &told);
}

static const struct engine_news within_news = {
        .spawned = within_spawned,
        .ready = within_ready,
        .make_failed = within_make_failed,
        .started = within_started,
        .exec_failed = within_exec_failed,
        .ended = within_ended,
        .connected = within_connected,
        .frozen = within_frozen,
        .walled = within_walled,
        .listened = within_listened,
        .denied = within_denied,
        .executed = within_executed,
        .kept = within_kept,
        .lost = within_lost,
        .gone = within_gone,
};

/* -- a command --------------------------------------------------------------------------------- */

/* The terminal is elsewhere. Here it is a socket: input to one side, output to the other. */
static int
open_terminal(struct command *c, int ends[2])
{
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        for (int i = 0; i < 3; i++)
                c->fds[i] = ends[1];
        c->fd_count = 3;
        return 0;
}

static int
bridge_exec(struct engine *e, struct job *t, struct command *c)
{
        struct bridge *b = bridge_of(e);
        int ends[2] = { -1, -1 }, result;

        if (b->to_relay.bytes + c->len > QUEUE_MAX / 2)
                return -EAGAIN;
        if ((c->wire->flags & WIRE_EXEC_TTY) != 0 && (result = open_terminal(c, ends)) < 0)
                return result;
        *t = (struct job){ .number = t->number, .engine = e, .next = b->jobs };
        if (ends[0] >= 0)
                t->place = (void *)(intptr_t)(ends[0] + 1);
        if (t->next)
                t->next->previous = t;
        b->jobs = t;
        say(b, WIRE_EXEC, c->wire, c->len, c->fds, c->fd_count);
        if (ends[1] >= 0)
                (void)close(ends[1]);
        return 0;
}

static void
bridge_signal(struct engine *e, struct job *t, int signal)
{
        say_number(bridge_of(e), WIRE_SIGNAL, t->number, signal);
}

static void
bridge_resize(struct engine *e, struct job *t, int master, const struct wire_size *size)
{
        const struct wire_exec_size ask = { t->number, size->rows, size->columns };

        (void)master;
        say(bridge_of(e), WIRE_RESIZE, &ask, sizeof ask, NULL, 0);
}

static void
bridge_kill(struct engine *e, struct job *t)
{
        if (t)
                t->is_killed = 1;
        say_number(bridge_of(e), WIRE_KILL_TREE, t ? t->number : 0, 0);
}

static uint64_t
bridge_cpu_us(struct engine *e, struct job *t)
{
        (void)e, (void)t;
        return ENGINE_UNKNOWN;
}

/* An end is reported when the provider says so, and it counts what is left. */
static int
bridge_has_processes(struct engine *e, struct job *t)
{
        (void)e;
        return t && !t->is_over;
}

static int
bridge_is_source(struct engine *e, const struct job *t, uint64_t source)
{
        (void)e, (void)t, (void)source;
        return 0;
}

static void
bridge_over(struct engine *e, struct job *t)
{
        t->is_over = 1;
        end_job(bridge_of(e), t);
}

static void
bridge_forget(struct engine *e, struct job *t)
{
        end_job(bridge_of(e), t);
}

/* -- all of them ------------------------------------------------------------------------------- */

static int
bridge_begin(struct engine *e, struct loop *loop)
{
        struct bridge *b = bridge_of(e);
        int result;

        b->loop = loop;
        b->within->news = &within_news;
        b->within->box = b;
        result = link_relay(b);
        return result < 0 ? result : b->within->calls->begin(b->within, loop);
}

/* Ports are with the provider, not in a network of this machine: it is asked for the address. */
static void
bridge_connect(struct engine *e, uint32_t request, uint16_t port)
{
        const struct wire_connect ask = { .request = request, .port = port };
        struct bridge *b = bridge_of(e);
        const struct wire_connected gone = { .request = request, .sys = ENOTCONN };

        if (b->socket < 0 || b->is_ending)
                e->news->connected(e->box, &gone, -1);
        else
                say(b, WIRE_CONNECT, &ask, sizeof ask, NULL, 0);
}

static int
bridge_listen(struct engine *e, const struct wire_wall_listen *wanted)
{
        struct bridge *b = bridge_of(e);

        return b->within->calls->listen(b->within, wanted);
}

/* carrel-bridge answers each pause once, in their order, and no end of a pause. */
static int
bridge_freeze(struct engine *e, int is_wanted)
{
        const struct wire_number ask = { is_wanted != 0 };
        struct bridge *b = bridge_of(e);

        if (is_wanted && b->is_paused)
                return 1;
        if (is_wanted && b->is_pausing)
                return 0;
        if (!is_wanted && !b->is_paused && !b->is_pausing)
                return 0;
        if (b->socket < 0 || b->is_ending)
                return is_wanted ? -ESRCH : 0;
        if (!is_wanted)
                b->stale += b->is_pausing;
        b->is_pausing = is_wanted != 0;
        b->is_paused = 0;
        say(b, WIRE_BOX_FREEZE, &ask, sizeof ask, NULL, 0);
        return 0;
}

/* The protocol has no message for it. */
static int
bridge_limit(struct engine *e, const void *wanted, size_t len)
{
        (void)e, (void)wanted, (void)len;
        return -EOPNOTSUPP;
}

static uint64_t
bridge_usage(struct engine *e, enum engine_usage of)
{
        (void)e, (void)of;
        return ENGINE_UNKNOWN;
}

static void
bridge_hear(struct engine *e)
{
        struct bridge *b = bridge_of(e);

        b->within->calls->hear(b->within);
        while (hear_relay(b) > 0)
                continue;
}

static void
too_late(struct loop_timer *t)
{
        end_within(box_holder(t, struct bridge, late));
}

/* The sandbox elsewhere is killed first, by the only process that knows it. */
static int
bridge_end(struct engine *e)
{
        struct bridge *b = bridge_of(e);

        b->is_ending = 1;
        if (!b->is_running || b->socket < 0 || shutdown(b->socket, SHUT_WR) < 0)
                return b->within->calls->end(b->within);
        return loop_timer_set(b->loop, &b->late, loop_now_ms() + HANG_UP_MS, too_late);
}

static void
bridge_close(struct engine *e)
{
        struct bridge *b = bridge_of(e);

        b->is_ending = 1;
        loop_timer_remove(&b->late);
        forget_relay(b);
        b->within->calls->close(b->within);
}

static const struct engine_calls bridge_calls = {
        .begin = bridge_begin,
        .exec = bridge_exec,
        .signal = bridge_signal,
        .resize = bridge_resize,
        .kill = bridge_kill,
        .connect = bridge_connect,
        .listen = bridge_listen,
        .freeze = bridge_freeze,
        .limit = bridge_limit,
        .usage = bridge_usage,
        .cpu_us = bridge_cpu_us,
        .has_processes = bridge_has_processes,
        .is_source = bridge_is_source,
        .over = bridge_over,
        .forget = bridge_forget,
        .hear = bridge_hear,
        .end = bridge_end,
        .close = bridge_close,
};

struct engine *
bridge_open(struct engine *within, int program)
{
        struct bridge *b = &bridge_only;

        *b = (struct bridge){ .engine = { .calls = &bridge_calls },
                              .within = within,
                              .relay = { .fd = -1 },
                              .late = { .due_ms = LOOP_NEVER },
                              .program = program,
                              .socket = -1,
                              .far = -1 };
        return &b->engine;
}
