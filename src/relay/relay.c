/*
 * relay/relay.c - plays pid 1 towards a box, for a guest behind one byte stream.
 *
 * Room: relay (program). Touches: fd, sockets of the sandbox's own network.
 *
 *     box --messages, descriptors--> relay --frames--> guest, pid 1 inside
 *
 *     serving --the box is gone--> out: the stream closes, and the guest ends
 *        | the guest is gone, or broke the protocol
 *        v
 *     finishing: what it wrote before is passed on, for at most HOLD_MS --> out
 *
 * R1: the guest can only report about a command or a connection that the box asked for, and starts
 *     each once.
 * R2: what a command wrote is with its reader before its end is reported, if the reader reads.
 * R3: a guest that says more than the box takes is not read meanwhile.
 */
#include "relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"
#include "guest/listen.h"
#include "guest/names.h"
#include "wire/flow.h"
#include "wire/queue.h"

enum { CONTROL, NAMES, ALIVE, FIRST_FLOW };
enum {
        HOLD_MS = 1000,
        STDIO = 3,
        MESSAGES_AT_ONCE = 64,
        QUEUE_HIGH = 1 << 20, /* bytes that wait for the box */
        QUEUE_MAX = 16 << 20,
};

/* What the box asked for: a command, or a connection to a port. */
struct known {
        struct known *next;
        uint32_t number;
        unsigned is_port : 1, is_terminal : 1, is_started : 1, has_ended : 1;
        uint64_t until_ms; /* with has_ended: the report waits no longer */
        struct wire_exec_ended ended;
};

struct relay {
        const struct relay_start *start;
        struct wire_queue to_box;
        struct flows flows;
        struct known *known;
        size_t ending; /* of them: has_ended */
        struct names names;
        struct listens listens;
        bool is_ready, has_failed; /* the guest said so */
        uint64_t ready_until_ms;   /* UINT64_MAX: it may take any time */
};

static struct relay relay;
static struct pollfd fds[FIRST_FLOW + FLOWS_POLL_MAX];
static _Alignas(8) char body[WIRE_BODY_MAX];

/* -- what is known ----------------------------------------------------------------------------- */

static struct known **
place_of(struct relay *r, uint32_t number, unsigned is_port)
{
        struct known **at = &r->known;

        while (*at && ((*at)->number != number || (*at)->is_port != is_port))
                at = &(*at)->next;
        return at;
}

static int
remember(struct relay *r, const struct known *what)
{
        struct known *k;

        if (*place_of(r, what->number, what->is_port))
                return -EEXIST;
        k = malloc(sizeof *k);
        if (!k)
                return -ENOMEM;
        *k = *what;
        k->next = r->known;
        r->known = k;
        return 0;
}

static void
forget(struct known **at)
{
        struct known *k = *at;

        *at = k->next;
        free(k);
}

/* -- to the box -------------------------------------------------------------------------------- */

static int
tell(struct relay *r, uint16_t kind, const void *message, size_t len, int take_fd)
{
        return wire_queue_send(&r->to_box, kind, message, len, &take_fd, take_fd >= 0);
}

/* One end for the box, the other for a stream of the guest's. */
static int
tell_with_socket(struct relay *r, uint16_t kind, const void *message, size_t len,
                 enum stream_channel channel, uint32_t number)
{
        int ends[2], result;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        result = tell(r, kind, message, len, ends[0]);
        if (result == 0)
                return flows_add(&r->flows, channel, number, ends[1], ends[1]);
        (void)close(ends[1]);
        return result;
}

static int
tell_ends(struct relay *r, bool is_last)
{
        struct known **at = &r->known;
        uint64_t now = r->ending > 0 ? clock_boot_ms() : 0;
        int result = 0;

        while (*at && r->ending > 0 && result == 0) {
                struct known *k = *at;

                if (!k->has_ended ||
                    (!is_last && now < k->until_ms && !flows_is_written(&r->flows, k->number))) {
                        at = &k->next;
                        continue;
                }
                result = tell(r, WIRE_EXEC_ENDED, &k->ended, sizeof k->ended, -1);
                r->ending--;
                forget(at);
        }
        return result;
}

/* -- from the guest ---------------------------------------------------------------------------- */

static int
hear_started(struct relay *r, const struct wire_exec_number *number)
{
        struct known *k = *place_of(r, number->exec, 0);

        if (!k || k->is_started)
                return -EPROTO; /* R1 */
        k->is_started = 1;
        if (!k->is_terminal)
                return tell(r, WIRE_EXEC_STARTED, number, sizeof *number, -1);
        return tell_with_socket(r, WIRE_EXEC_STARTED, number, sizeof *number, STREAM_TERMINAL,
                                number->exec);
}

static int
hear_failed(struct relay *r, const struct wire_exec_failed *failed)
{
        struct known **at = place_of(r, failed->exec, 0);

        if (!*at || (*at)->is_started)
                return -EPROTO;
        forget(at);
        flows_drop(&r->flows, failed->exec);
        return tell(r, WIRE_EXEC_FAILED, failed, sizeof *failed, -1);
}

static int
hear_ended(struct relay *r, const struct wire_exec_ended *ended)
{
        struct known *k = *place_of(r, ended->exec, 0);

        if (!k || !k->is_started || k->has_ended)
                return -EPROTO;
        k->has_ended = 1;
        k->ended = *ended;
        k->until_ms = clock_boot_ms() + HOLD_MS;
        r->ending++;
        return tell_ends(r, false);
}

static int
hear_connected(struct relay *r, const struct wire_connected *answer)
{
        struct known **at = place_of(r, answer->request, 1);

        if (!*at)
                return -EPROTO;
        forget(at);
        if (answer->sys != 0)
                return tell(r, WIRE_CONNECTED, answer, sizeof *answer, -1);
        return tell_with_socket(r, WIRE_CONNECTED, answer, sizeof *answer, STREAM_PORT,
                                answer->request);
}

/* The guest counts its own steps. */
static int
hear_step_failed(struct relay *r, const struct wire_failed *said)
{
        struct wire_failed failed = *said;

        if (r->is_ready)
                return -EPROTO;
        failed.step = said->step < UINT32_MAX - r->start->first_step
                              ? said->step + r->start->first_step
                              : UINT32_MAX;
        r->has_failed = true;
        return tell(r, WIRE_BOX_FAILED, &failed, sizeof failed, -1);
}

static int
hear_ready(struct relay *r)
{
        if (r->is_ready)
                return -EPROTO;
        r->is_ready = true;
        r->ready_until_ms = UINT64_MAX;
        return r->start->is_living ? tell(r, WIRE_BOX_READY, NULL, 0, -1) : 0;
}

static int
hear_guest(void *owner, uint16_t kind, void *said, size_t len)
{
        struct relay *r = owner;

        if (r->to_box.bytes > QUEUE_HIGH)
                return 1; /* R3 */
        if (!r->is_ready && kind != WIRE_BOX_READY && kind != WIRE_BOX_FAILED)
                return -EPROTO;
        switch (kind) {
        case WIRE_BOX_READY:
                return hear_ready(r);
        case WIRE_BOX_FAILED:
                return hear_step_failed(r, said);
        case WIRE_EXEC_STARTED:
                return hear_started(r, said);
        case WIRE_EXEC_FAILED:
                return hear_failed(r, said);
        case WIRE_EXEC_ENDED:
                return hear_ended(r, said);
        case WIRE_CONNECTED:
                return hear_connected(r, said);
        default: /* no command's and no connection's: the box checks it */
                return tell(r, kind, said, len, -1);
        }
}

/* -- from the box ------------------------------------------------------------------------------ */

static int
refuse_exec(struct relay *r, uint32_t exec, int sys)
{
        const struct wire_exec_failed failed = { exec, sys, WIRE_STAGE_SPAWN };

        return tell(r, WIRE_EXEC_FAILED, &failed, sizeof failed, -1);
}

static int
add_streams(struct relay *r, uint32_t exec, struct wire_message *m)
{
        static const enum stream_channel channels[STDIO] = { STREAM_STDIN, STREAM_STDOUT,
                                                             STREAM_STDERR };
        int result = 0;

        for (size_t i = 0; i < STDIO && result == 0; i++) {
                int fd = m->fds[i];

                m->fds[i] = -1;
                result =
                        flows_add(&r->flows, channels[i], exec, i == 0 ? fd : -1, i == 0 ? -1 : fd);
        }
        return result;
}

static int
begin_exec(struct relay *r, struct wire_message *m)
{
        struct wire_exec order;
        struct known k;
        size_t count;
        int result;

        if (m->len < sizeof order)
                return -EPROTO;
        memcpy(&order, body, sizeof order);
        count = (order.flags & WIRE_EXEC_TTY) != 0 ? 0 : STDIO;
        /* its own group cannot be passed on */
        if (m->fd_count != count || (order.flags & WIRE_EXEC_GROUP) != 0)
                return refuse_exec(r, order.exec, ENOTSUP);
        k = (struct known){ .number = order.exec, .is_terminal = count == 0 };
        result = remember(r, &k);
        if (result < 0)
                return refuse_exec(r, order.exec, -result);
        result = flows_say(&r->flows, WIRE_EXEC, body, m->len);
        explicit_bzero(body, m->len); /* it may hold secrets */
        return result == 0 && count > 0 ? add_streams(r, order.exec, m) : result;
}

static int
begin_connect(struct relay *r, const struct wire_message *m)
{
        struct wire_connect order;
        struct known k = { .is_port = 1 };

        if (m->len != sizeof order)
                return -EPROTO;
        memcpy(&order, body, sizeof order);
        k.number = order.request;
        if (remember(r, &k) < 0) {
                const struct wire_connected no = { order.request, EAGAIN };

                return tell(r, WIRE_CONNECTED, &no, sizeof no, -1);
        }
        return flows_say(&r->flows, WIRE_CONNECT, &order, sizeof order);
}

static int
serve_message(struct relay *r, struct wire_message *m)
{
        switch (m->kind) {
        case WIRE_EXEC:
                return begin_exec(r, m);
        case WIRE_CONNECT:
                return begin_connect(r, m);
        case WIRE_SIGNAL:
        case WIRE_KILL_TREE:
                return m->len == sizeof(struct wire_exec_number)
                               ? flows_say(&r->flows, m->kind, body, m->len)
                               : -EPROTO;
        case WIRE_RESIZE:
                return m->len == sizeof(struct wire_exec_size)
                               ? flows_say(&r->flows, m->kind, body, m->len)
                               : -EPROTO;
        case WIRE_WALL_LISTEN:
                if (m->len == sizeof(struct wire_wall_listen))
                        listens_start(&r->listens, (const void *)body);
                return 0;
        default:
                return 0;
        }
}

static int
hear_box(struct relay *r)
{
        int result = 0;

        for (int i = 0;
             i < MESSAGES_AT_ONCE && result == 0 && flows_has_room(&r->flows) && !r->listens.is_due;
             i++) {
                struct wire_message m;
                int got = wire_receive(r->to_box.fd, 0, &m, body, sizeof body);

                if (got == -EAGAIN)
                        return 0;
                if (got <= 0)
                        return -EPIPE;
                result = serve_message(r, &m);
                wire_message_close(&m);
                if (result == 0 && listens_tell(&r->listens) < 0)
                        result = -EPIPE;
        }
        return result;
}

/* -- the loop ---------------------------------------------------------------------------------- */

/* The shorter of the two; -1: none. */
static int
until_ready(const struct relay *r, int timeout)
{
        uint64_t now = r->ready_until_ms == UINT64_MAX ? 0 : clock_boot_ms();
        uint64_t left = r->ready_until_ms > now ? r->ready_until_ms - now : 0;

        if (r->ready_until_ms == UINT64_MAX || (timeout >= 0 && (uint64_t)timeout < left))
                return timeout;
        return left > INT_MAX ? INT_MAX : (int)left;
}

static int
timeout_ms(const struct relay *r)
{
        int timeout = names_wait_ms(&r->names);
        uint64_t now = r->ending > 0 ? clock_boot_ms() : 0;

        for (const struct known *k = r->ending > 0 ? r->known : NULL; k; k = k->next) {
                int left = k->until_ms > now ? (int)(k->until_ms - now) : 0;

                if (k->has_ended && (timeout < 0 || left < timeout))
                        timeout = left;
        }
        return until_ready(r, timeout);
}

static size_t
wait_for(struct relay *r)
{
        bool is_free = flows_has_room(&r->flows) && !r->listens.is_due;
        bool has_news = r->to_box.first || r->names.is_due || r->listens.is_due;
        size_t count;

        fds[CONTROL] =
                (struct pollfd){ r->to_box.fd,
                                 (short)((is_free ? POLLIN : 0) | (has_news ? POLLOUT : 0)), 0 };
        fds[NAMES] = (struct pollfd){ r->names.is_due ? -1 : r->names.socket, POLLIN, 0 };
        fds[ALIVE] = (struct pollfd){ r->start->alive, POLLIN, 0 };
        count = flows_poll(&r->flows, fds + FIRST_FLOW);
        if (poll(fds, FIRST_FLOW + count, timeout_ms(r)) < 0 && errno != EINTR)
                return 0;
        return count;
}

/* 0, or -errno of the guest's stream. *ret_is_box: it was the box. */
static int
serve(struct relay *r, size_t count, bool *ret_is_box)
{
        int result = 0;

        *ret_is_box = true;
        if (wire_queue_flush(&r->to_box) < 0 || (fds[CONTROL].revents & (POLLHUP | POLLERR)) != 0)
                return -EPIPE;
        if (hear_box(r) < 0)
                return -EPIPE;
        if (fds[NAMES].revents != 0)
                (void)names_serve(&r->names);
        if (names_tell(&r->names, false) < 0 || listens_tell(&r->listens) < 0)
                return -EPIPE;
        *ret_is_box = false;
        if (fds[ALIVE].revents != 0)
                return -EPIPE;
        result = flows_serve(&r->flows, fds + FIRST_FLOW, count);
        if (result == 0)
                result = tell_ends(r, false);
        if (result == 0 && r->ready_until_ms != UINT64_MAX && clock_boot_ms() >= r->ready_until_ms)
                result = -ETIMEDOUT;
        return result;
}

/* What was sent before the stream ended still arrives. */
static void
finish(struct relay *r)
{
        uint64_t until = clock_boot_ms() + HOLD_MS, now;

        while (flows_finish(&r->flows) && (now = clock_boot_ms()) < until) {
                size_t count = flows_poll(&r->flows, fds + FIRST_FLOW);

                fds[FIRST_FLOW].fd = -1;
                if (poll(fds + FIRST_FLOW, count, (int)(until - now)) < 0 && errno != EINTR)
                        break;
        }
        (void)tell_ends(r, true);
        while (r->to_box.first && (now = clock_boot_ms()) < until) {
                struct pollfd box = { r->to_box.fd, POLLOUT, 0 };

                if ((poll(&box, 1, (int)(until - now)) < 0 && errno != EINTR) ||
                    wire_queue_flush(&r->to_box) < 0)
                        break;
        }
}

int
relay_serve(const struct relay_start *start)
{
        struct relay *r = &relay;
        bool is_box = false;
        int result;

        r->start = start;
        r->ready_until_ms = start->ready_ms > 0 ? clock_boot_ms() + start->ready_ms : UINT64_MAX;
        if (fcntl(start->control, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
            fcntl(start->stream, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
                return -errno;
        wire_queue_init(&r->to_box, start->control, QUEUE_MAX, 0);
        names_init(&r->names, start->control, start->names, start->diag);
        r->listens = (struct listens){ .control = start->control,
                                       .stock = start->stock,
                                       .stock_count = start->stock_count };
        result = flows_init(&r->flows, STREAM_RELAY, start->stream, hear_guest, r);
        if (result == 0)
                result = flows_say(&r->flows, WIRE_MAKE, start->plan, start->plan_len);
        while (result == 0)
                result = serve(r, wait_for(r), &is_box);
        if (!is_box)
                finish(r);
        wire_queue_fini(&r->to_box);
        flows_fini(&r->flows);
        while (r->known)
                forget(&r->known);
        if (is_box || (result == -EPIPE && (r->is_ready || r->has_failed)))
                return 0;
        return result == -EPIPE ? -ECONNRESET : result;
}
