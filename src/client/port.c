/*
 * client/port.c - waits until a declared port of an exec's sandbox listens.
 *
 * Room: client (joining). Touches: one unix socket, one epoll descriptor.
 * Theory: the keeper waits (keeper/port_wait.c) and answers one call when the wait is over. The
 * call has its own connection, so it blocks no other call. It is repeated after a restart of the
 * daemon; its time limit then starts again. A caller that polls an exec needs only one descriptor
 * for both.
 */
#include "client/port.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

void
client_ports_init(struct client_ports *p)
{
        *p = (struct client_ports){ .poll_fd = -1 };
}

static void
stop(struct client_ports *p)
{
        carrel_close(p->c); /* epoll removes a closed descriptor */
        p->c = NULL;
}

void
client_ports_fini(struct client_ports *p)
{
        stop(p);
        if (p->poll_fd >= 0)
                (void)close(p->poll_fd);
        p->poll_fd = -1;
}

/* Keeps a descriptor that is already registered. */
static int
add(const struct client_ports *p, int fd, struct error *e)
{
        struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

        return epoll_ctl(p->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST
                       ? fail_sys(e, ERROR_INTERNAL, errno, "waiting for a port")
                       : 0;
}

int
client_ports_begin(struct client_ports *p, struct carrel *take_c, const char *id, uint32_t exec,
                   uint64_t limit_ms, int channel, struct error *e)
{
        struct record_writer *w = connection_begin(take_c);

        p->c = take_c;
        record_text(w, FIELD_ID, id);
        record_uint(w, FIELD_EXEC, exec);
        record_bool(w, FIELD_WAIT_PORTS, 1);
        if (limit_ms > 0)
                record_uint(w, FIELD_WAIT_PORTS_MS, limit_ms);
        p->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (p->poll_fd < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "waiting for a port");
        return connection_ask(p->c, OP_EXEC_GET, e) < 0 || add(p, p->c->socket, e) < 0 ||
                               add(p, channel, e) < 0
                       ? -1
                       : 0;
}

void
client_ports_want(const struct client_ports *p, int channel, bool writes)
{
        struct epoll_event event = { .events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                     .data.fd = channel };

        if (p->poll_fd >= 0)
                (void)epoll_ctl(p->poll_fd, EPOLL_CTL_MOD, channel, &event);
}

int
client_ports_next(struct client_ports *p, struct error *e)
{
        struct record r;
        int got;

        if (!p->c)
                return 0;
        got = connection_answer(p->c, &r, e);
        if (got == 0)
                /* the descriptor may be a new one with the same number */
                return add(p, p->c->socket, e);
        if (got < 0) {
                stop(p);
                return -1;
        }
        p->port = (unsigned)record_get_uint(&r, FIELD_PORT, 0);
        got = p->port != 0 || strcmp(record_get_text(&r, FIELD_STATE, ""), "ended") != 0;
        stop(p);
        return got;
}
