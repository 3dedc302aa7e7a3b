/*
 * guest/connect.c - connections to ports inside, opened by pid 1 and handed out.
 *
 * Room: guest (program). Touches: the box's own loopback, fd, clock.
 */
#include "guest/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"

void
connects_init(struct connects *x, int control, unsigned held_max)
{
        x->control = control;
        x->held_max = held_max;
}

static void
finish(struct connect *c, int sys)
{
        c->is_done = 1;
        c->sys = sys;
        if (sys != 0 && c->fd >= 0) {
                (void)close(c->fd);
                c->fd = -1;
        }
}

/* 0, EINPROGRESS, or the errno of the failure. */
static int
attempt(struct connect *c)
{
        struct sockaddr_in four = { .sin_family = AF_INET,
                                    .sin_port = htons(c->port),
                                    .sin_addr = { htonl(INADDR_LOOPBACK) } };
        struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                    .sin6_port = htons(c->port),
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT };

        c->fd = socket(c->is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                       0);
        if (c->fd < 0)
                return errno;
        if (connect(c->fd,
                    c->is_six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
                    c->is_six ? sizeof six : sizeof four) == 0)
                return 0;
        return errno;
}

/*
 * An attempt ended with `sys`: tries the other address, or sets the answer. "No IPv6" does not
 * replace "connection refused".
 */
static void
proceed(struct connect *c, int sys)
{
        while (sys == ECONNREFUSED && !c->is_six) {
                (void)close(c->fd);
                c->is_six = 1;
                sys = attempt(c);
                if (sys == EAFNOSUPPORT || sys == EADDRNOTAVAIL || sys == ENETUNREACH)
                        sys = ECONNREFUSED;
        }
        if (sys != EINPROGRESS)
                finish(c, sys);
}

static struct connect *
take_row(struct connects *x)
{
        for (unsigned i = 0; i < CONNECTS_MAX && x->used < x->held_max; i++)
                if (!x->rows[i].is_used) {
                        x->used++;
                        return &x->rows[i];
                }
        return NULL;
}

void
connects_start(struct connects *x, const struct wire_connect *wanted)
{
        struct connect *c = take_row(x);

        if (!c) {
                x->refusal = (struct wire_connected){ wanted->request, EAGAIN };
                x->has_refusal = 1;
                return;
        }
        *c = (struct connect){ .request = wanted->request,
                               .port = wanted->port,
                               .is_used = 1,
                               .fd = -1,
                               .deadline_ms = clock_boot_ms() + CONNECT_MS };
        proceed(c, attempt(c));
}

size_t
connects_poll(const struct connects *x, struct pollfd *fds, int *timeout_ms)
{
        size_t count = 0;

        for (unsigned i = 0; i < CONNECTS_MAX && x->used > 0; i++) {
                const struct connect *c = &x->rows[i];
                uint64_t now, left;

                if (!c->is_used || c->is_done)
                        continue;
                now = clock_boot_ms();
                left = c->deadline_ms > now ? c->deadline_ms - now : 0;
                if (*timeout_ms < 0 || left < (uint64_t)*timeout_ms)
                        *timeout_ms = (int)left;
                fds[count++] = (struct pollfd){ c->fd, POLLOUT, 0 };
        }
        return count;
}

static void
look(struct connect *c)
{
        struct pollfd fd = { c->fd, POLLOUT, 0 };
        socklen_t len = sizeof(int);
        int sys = 0;

        if (poll(&fd, 1, 0) > 0)
                proceed(c, getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0 ? errno : sys);
        else if (clock_boot_ms() >= c->deadline_ms)
                finish(c, ETIMEDOUT);
}

/* 1: sent; 0: the socket is full; -1: the other end is closed. */
static int
tell(const struct connects *x, const struct wire_connected *message, int fd)
{
        int result = wire_send(x->control, WIRE_CONNECTED, message, sizeof *message, &fd, fd >= 0);

        return result == 0 ? 1 : wire_is_for_later(result) ? 0 : -1;
}

int
connects_serve(struct connects *x)
{
        int told = 1;

        if (x->has_refusal && (told = tell(x, &x->refusal, -1)) > 0)
                x->has_refusal = 0;
        for (unsigned i = 0; i < CONNECTS_MAX && x->used > 0 && told >= 0; i++) {
                struct connect *c = &x->rows[i];

                if (c->is_used && !c->is_done)
                        look(c);
                if (!c->is_used || !c->is_done || told == 0)
                        continue;
                told = tell(x, &(struct wire_connected){ c->request, c->sys }, c->fd);
                if (told <= 0)
                        continue;
                if (c->fd >= 0)
                        (void)close(c->fd);
                c->is_used = 0;
                x->used--;
        }
        return told < 0 ? -1 : 0;
}

int
connects_has_news(const struct connects *x)
{
        for (unsigned i = 0; i < CONNECTS_MAX && x->used > 0; i++)
                if (x->rows[i].is_used && x->rows[i].is_done)
                        return 1;
        return x->has_refusal;
}
