/*
 * guest/transport.c - the guest behind one byte stream.
 *
 * Room: guest (program). Touches: fd.
 *
 *     relay --frames--> transport --messages, pipes--> control socket --> the rest of pid 1
 *           <--frames--           <--messages, terminals, sockets--
 *
 * Theory: one process, because the payload could kill a second one with its own uid. Pipes and
 * terminals have no name inside, and pid 1 is not dumpable, so nobody else reaches them. What a
 * command wrote before its end is sent before the report of its end, for at most HOLD_MS: a reader
 * outside that does not read delays the report no longer.
 */
#include "guest/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"
#include "guest/command.h"
#include "plan/pack.h"

enum { HOLD_MS = 1000, FDS_OF_EXEC = 6, STDIO = 3, BODY_ROOM = 4096 };

struct waiting_end {
        struct wire_exec_ended ended;
        uint64_t until_ms;
};

struct transport {
        int control; /* this end: the box's */
        unsigned fds_max;
        struct flows flows;
        size_t end_count;
        struct waiting_end ends[TRANSPORT_ENDS_MAX];
        size_t plan_len;
        bool has_plan, is_serving;
        _Alignas(16) unsigned char plan[PLAN_PACK_MAX];
};

static struct transport only; /* only the used part is touched */

/* -- orders of the relay ----------------------------------------------------------------------- */

static int
refuse_exec(struct transport *t, uint32_t exec, int sys)
{
        const struct wire_exec_failed failed = { exec, sys, WIRE_STAGE_SPAWN };

        return flows_say(&t->flows, WIRE_EXEC_FAILED, &failed, sizeof failed);
}

static void
close_all(int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

/* Pipes: theirs[] for the command, ours[] for the relay. */
static int
open_pipes(int theirs[STDIO], int ours[STDIO])
{
        for (int i = 0; i < STDIO; i++) {
                int ends[2];

                if (pipe2(ends, O_CLOEXEC) < 0)
                        return -errno;
                theirs[i] = ends[i == 0 ? 0 : 1];
                ours[i] = ends[i == 0 ? 1 : 0];
        }
        return 0;
}

static int
add_pipes(struct transport *t, uint32_t exec, const int ours[STDIO])
{
        int result = flows_add(&t->flows, STREAM_STDIN, exec, -1, ours[0]);
        int second = flows_add(&t->flows, STREAM_STDOUT, exec, ours[1], -1);
        int third = flows_add(&t->flows, STREAM_STDERR, exec, ours[2], -1);

        return result < 0 ? result : second < 0 ? second : third;
}

/* 0; 1: later; -errno. */
static int
begin_exec(struct transport *t, const struct wire_exec *order, size_t len)
{
        int theirs[STDIO] = { -1, -1, -1 }, ours[STDIO] = { -1, -1, -1 };
        size_t count = (order->flags & WIRE_EXEC_TTY) != 0 ? 0 : STDIO;
        int result = 0;

        if ((order->flags & WIRE_EXEC_GROUP) != 0)
                return -EPROTO;
        if (t->flows.fds + FDS_OF_EXEC > t->fds_max || t->flows.count + STDIO > FLOWS_MAX)
                return refuse_exec(t, order->exec, EMFILE);
        if (count > 0)
                result = open_pipes(theirs, ours);
        if (result == 0)
                result = wire_send(t->control, WIRE_EXEC, order, len, theirs, count);
        close_all(theirs, STDIO);
        if (result == 0 && count > 0)
                return add_pipes(t, order->exec, ours);
        close_all(ours, STDIO);
        if (wire_is_for_later(result))
                return 1;
        return result == -EMFILE || result == -ENFILE ? refuse_exec(t, order->exec, -result)
                                                      : result;
}

static int
keep_plan(struct transport *t, const void *body, size_t len)
{
        if (t->has_plan || len > sizeof t->plan)
                return -EPROTO;
        memcpy(t->plan, body, len);
        t->plan_len = len;
        t->has_plan = true;
        return 0;
}

static int
hear_relay(void *owner, uint16_t kind, void *body, size_t len)
{
        struct transport *t = owner;
        int result;

        if (kind == WIRE_MAKE)
                return keep_plan(t, body, len);
        if (!t->has_plan)
                return -EPROTO; /* the plan comes first */
        if (!t->is_serving)
                return 1; /* until this process has restricted itself */
        if (kind == WIRE_EXEC)
                return begin_exec(t, body, len);
        result = wire_send(t->control, kind, body, len, NULL, 0);
        return wire_is_for_later(result) ? 1 : result;
}

/* -- reports of the guest ---------------------------------------------------------------------- */

static int
take_fd(struct wire_message *m)
{
        int fd = m->fd_count > 0 ? m->fds[0] : -1;

        if (m->fd_count > 0)
                m->fds[0] = -1;
        return fd;
}

static int
hold_end(struct transport *t, const struct wire_exec_ended *ended)
{
        struct waiting_end *w = &t->ends[t->end_count];

        if (t->end_count == TRANSPORT_ENDS_MAX)
                return flows_say(&t->flows, WIRE_EXEC_ENDED, ended, sizeof *ended);
        *w = (struct waiting_end){ *ended, clock_boot_ms() + HOLD_MS };
        t->end_count++;
        flows_settle(&t->flows, ended->exec);
        return 0;
}

static int
pass_report(struct transport *t, struct wire_message *m, const void *body)
{
        uint32_t number = 0;
        int fd, result;

        if (m->kind == WIRE_EXEC_ENDED && m->len == sizeof(struct wire_exec_ended))
                return hold_end(t, body);
        if (m->len >= sizeof number)
                memcpy(&number, body, sizeof number);
        result = flows_say(&t->flows, m->kind, body, m->len);
        fd = take_fd(m);
        if (fd < 0 || result < 0)
                return result;
        return flows_add(&t->flows, m->kind == WIRE_CONNECTED ? STREAM_PORT : STREAM_TERMINAL,
                         number, fd, fd);
}

static int
hear_guest(struct transport *t)
{
        _Alignas(8) unsigned char body[BODY_ROOM];
        int result = 0;

        while (result == 0 && flows_has_room(&t->flows)) {
                struct wire_message m;
                int got = wire_receive(t->control, 0, &m, body, sizeof body);

                if (got == -EAGAIN)
                        return 0;
                if (got <= 0)
                        return got < 0 ? got : -EPIPE;
                result = pass_report(t, &m, body);
                wire_message_close(&m);
        }
        return result;
}

static int
tell_ends(struct transport *t)
{
        size_t left = 0;
        uint64_t now = t->end_count > 0 ? clock_boot_ms() : 0;
        int result = 0;

        for (size_t i = 0; i < t->end_count; i++) {
                struct waiting_end *w = &t->ends[i];

                if (result == 0 &&
                    (now >= w->until_ms || flows_is_settled(&t->flows, w->ended.exec)))
                        result = flows_say(&t->flows, WIRE_EXEC_ENDED, &w->ended, sizeof w->ended);
                else
                        t->ends[left++] = *w;
        }
        t->end_count = left;
        return result;
}

/* -- serving ----------------------------------------------------------------------------------- */

size_t
transport_poll(struct transport *t, struct pollfd *fds, int *timeout_ms)
{
        uint64_t now = t->end_count > 0 ? clock_boot_ms() : 0;
        short events = (short)((flows_has_room(&t->flows) ? POLLIN : 0) |
                               (t->flows.is_held ? POLLOUT : 0));

        t->is_serving = true;
        fds[0] = (struct pollfd){ t->control, events, 0 };
        for (size_t i = 0; i < t->end_count; i++) {
                uint64_t until = t->ends[i].until_ms;
                int left = until > now ? (int)(until - now) : 0;

                if (*timeout_ms < 0 || left < *timeout_ms)
                        *timeout_ms = left;
        }
        return 1 + flows_poll(&t->flows, fds + 1);
}

int
transport_serve(struct transport *t, const struct pollfd *fds, size_t count)
{
        int result = hear_guest(t);

        if (result == 0)
                result = tell_ends(t);
        if (result == 0)
                result = flows_serve(&t->flows, fds + 1, count - 1);
        return result;
}

bool
transport_is_flushed(struct transport *t)
{
        return t->end_count == 0 && flows_is_flushed(&t->flows);
}

/* -- begin ------------------------------------------------------------------------------------- */

/* Before commands, so there is only the stream to wait for. */
static int
exchange(struct transport *t)
{
        struct pollfd fds[1]; /* hear_relay() begins no command yet */

        if (flows_poll(&t->flows, fds) != 1)
                return -EPROTO;
        if (poll(fds, 1, -1) < 0 && errno != EINTR)
                return -errno;
        return flows_serve(&t->flows, fds, 1);
}

int
transport_receive_plan(struct transport *t, void **ret_plan, size_t *ret_len)
{
        int result = 0;

        while (result == 0 && !t->has_plan)
                result = exchange(t);
        *ret_plan = t->plan;
        *ret_len = t->plan_len;
        return result;
}

int
transport_say(struct transport *t, uint16_t kind, const void *body, size_t len)
{
        int result = flows_say(&t->flows, kind, body, len);

        while (result == 0 && !flows_is_flushed(&t->flows))
                result = exchange(t);
        return result;
}

int
transport_take(int port)
{
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        int lifted = fcntl(port, F_DUPFD_CLOEXEC, TRANSPORT_STREAM + 1);

        if (nothing < 0 || lifted < 0)
                return -errno;
        for (int fd = 0; fd < TRANSPORT_STREAM; fd++)
                if (dup2(nothing, fd) < 0)
                        return -errno;
        if (dup3(lifted, TRANSPORT_STREAM, O_CLOEXEC) < 0)
                return -errno;
        command_close_from(TRANSPORT_STREAM + 1);
        return 0;
}

int
transport_open(int stream, unsigned fds_max, struct transport **ret, int *ret_control)
{
        struct transport *t = &only;
        int ends[2];

        if (fcntl(stream, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
                return -errno;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
                return -errno;
        t->control = ends[0];
        t->fds_max = fds_max;
        *ret_control = ends[1];
        *ret = t;
        return flows_init(&t->flows, STREAM_GUEST, stream, hear_relay, t);
}
