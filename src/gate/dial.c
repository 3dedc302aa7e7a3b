/*
 * gate/dial.c - connects to a name.
 *
 *     look up -> vet every candidate -> try one; after 250 ms, or when one fails, also the next
 *             -> the first that connects
 *
 * Room: gate (acting). Touches: net, clock, fd, mem.
 * Theory: the address that was vetted is the one passed to connect(2). No second look-up lies
 * between, so a name that changes its answer gains nothing (H05). The first address that answers
 * serves the connection for its whole life.
 */
#include "gate/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/test_switches.h"
#include "gate/wall.h"

enum { PREFIX_LEN = 8 /* of an IPv6 network, bytes */, TURN_VETTING = 4 };

static void dial_turn(struct job *j);

static void
want_turn(struct dial *d)
{
        turn_want(&d->wall->turn, &d->job, dial_turn);
}

static void
attempt_end(struct dial_attempt *a)
{
        int fd = a->watch.fd;

        if (fd < 0)
                return;
        loop_watch_remove(&a->watch);
        (void)close(fd);
}

void
dial_stop(struct dial *d)
{
        if (!d->is_running)
                return;
        d->is_running = false;
        job_end(&d->job);
        resolver_cancel(&d->wait);
        loop_timer_remove(&d->timer);
        for (size_t i = 0; i < DIAL_ATTEMPTS_MAX; i++)
                attempt_end(&d->attempts[i]);
        free(d->candidates);
        d->candidates = NULL;
}

static void
finish(struct dial *d, enum denial reason)
{
        dial_stop(d);
        d->done(d, reason);
}

static void
attempt_ready(struct loop_watch *w, uint32_t events)
{
        struct dial_attempt *a = (struct dial_attempt *)w;

        (void)events;
        a->is_told = true;
        want_turn(a->dial);
}

/* An attempt that has connected, or NULL. Ends those that failed. */
static struct dial_attempt *
find_standing(struct dial *d)
{
        for (size_t i = 0; i < DIAL_ATTEMPTS_MAX; i++) {
                struct dial_attempt *a = &d->attempts[i];
                int wrong = 0;
                socklen_t len = sizeof wrong;

                if (!a->is_told || a->watch.fd < 0)
                        continue;
                a->is_told = false;
                if (getsockopt(a->watch.fd, SOL_SOCKET, SO_ERROR, &wrong, &len) == 0 && wrong == 0)
                        return a;
                attempt_end(a);
        }
        return NULL;
}

static socklen_t
write_sockaddr(const struct egress_address *a, uint16_t port, struct sockaddr_storage *ret)
{
        static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

        memset(ret, 0, sizeof *ret);
        if (memcmp(a->bytes, mapped, sizeof mapped) == 0) {
                struct sockaddr_in *in = (struct sockaddr_in *)ret;

                in->sin_family = AF_INET;
                in->sin_port = htons(port);
                memcpy(&in->sin_addr, a->bytes + 12, 4);
                return sizeof *in;
        }
        {
                struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

                in6->sin6_family = AF_INET6;
                in6->sin6_port = htons(port);
                memcpy(&in6->sin6_addr, a->bytes, 16);
                return sizeof *in6;
        }
}

/* Starts one attempt. 0, or -errno: this candidate cannot be used. */
static int
attempt_begin(struct dial *d, struct dial_attempt *a, const struct egress_address *address)
{
        struct sockaddr_storage where;
        socklen_t len = write_sockaddr(address, d->port, &where);
        int one = 1, result,
            fd = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        result = connect(fd, (struct sockaddr *)&where, len) == 0 || errno == EINPROGRESS ? 0
                                                                                          : -errno;
        a->dial = d;
        a->is_told = false;
        turn_use(&d->wall->turn, TURN_CONNECTION);
        if (result == 0)
                result = loop_watch_add(d->gate->loop, &a->watch, fd, EPOLLOUT, attempt_ready);
        if (result < 0) {
                (void)close(fd);
                return result;
        }
        a->until_ms = loop_now_ms() + DIAL_ONE_MS;
        return 0;
}

/*
 * The number of open attempts; *ret_free is an unused one, or NULL. Ends attempts past their time.
 */
static size_t
look_at_attempts(struct dial *d, uint64_t now, struct dial_attempt **ret_free)
{
        size_t open = 0;

        *ret_free = NULL;
        for (size_t i = 0; i < DIAL_ATTEMPTS_MAX; i++) {
                struct dial_attempt *a = &d->attempts[i];

                if (a->watch.fd >= 0 && a->until_ms <= now)
                        attempt_end(a);
                if (a->watch.fd >= 0)
                        open++;
                else
                        *ret_free = a;
        }
        return open;
}

static void
time_passed(struct loop_timer *t)
{
        want_turn((struct dial *)((char *)t - offsetof(struct dial, timer)));
}

/*
 * Starts the next attempt if a candidate and a slot are free, and sets the time of the next look.
 */
static void
go_on(struct dial *d)
{
        uint64_t now = loop_now_ms(), due;
        struct dial_attempt *spare;
        size_t open = look_at_attempts(d, now, &spare);
        int result = -EAGAIN;

        if (now >= d->until_ms) {
                finish(d, DENIAL_UNREACHABLE);
                return;
        }
        while (spare && d->at < d->count && result < 0) {
                result = attempt_begin(d, spare, &d->candidates[d->at]);
                if (result == -EMFILE || result == -ENFILE || result == -ENOMEM ||
                    result == -ENOBUFS)
                        break;
                d->at++;
        }
        if (result == 0)
                open++;
        if (open == 0) {
                finish(d, result == -EMFILE || result == -ENFILE || result == -ENOMEM ||
                                          result == -ENOBUFS
                                  ? DENIAL_FAILED
                                  : DENIAL_UNREACHABLE);
                return;
        }
        due = now + (d->at < d->count ? DIAL_NEXT_MS : DIAL_ONE_MS);
        if (loop_timer_set(d->gate->loop, &d->timer, due < d->until_ms ? due : d->until_ms,
                           time_passed) < 0)
                finish(d, DENIAL_FAILED);
}

/*
 * Does the address belong to this machine, although it looks like any other? Its services would see
 * such a connection as local (H18). The kernel is asked for the source address that it would use.
 * For itself that is the same address. For a neighbour in an IPv6 network it is one of the same
 * /64; that network is as private as 192.168.0.0/16, although its addresses are public. No packet
 * is sent. If the kernel cannot be asked, the address counts as this machine.
 */
enum nearness { FAR_AWAY, NEIGHBOUR, THIS_HOST };

static enum nearness
compare(const struct sockaddr_storage *there, const struct sockaddr_storage *here)
{
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)there,
                                  *b = (const struct sockaddr_in6 *)here;

        if (there->ss_family == AF_INET)
                return memcmp(&((const struct sockaddr_in *)there)->sin_addr,
                              &((const struct sockaddr_in *)here)->sin_addr, 4) == 0
                               ? THIS_HOST
                               : FAR_AWAY;
        if (memcmp(&a->sin6_addr, &b->sin6_addr, sizeof a->sin6_addr) == 0)
                return THIS_HOST;
        return memcmp(&a->sin6_addr, &b->sin6_addr, PREFIX_LEN) == 0 ? NEIGHBOUR : FAR_AWAY;
}

static enum nearness
find_nearness(const struct egress_address *a, uint16_t port)
{
        struct sockaddr_storage there, here;
        socklen_t len = write_sockaddr(a, port, &there), here_len = sizeof here;
        int fd = socket(there.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        enum nearness found = THIS_HOST;

        if (fd < 0)
                return THIS_HOST;
        memset(&here, 0, sizeof here);
        if (connect(fd, (struct sockaddr *)&there, len) < 0)
                found = FAR_AWAY; /* no route: the dial reports it */
        else if (getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
                 here.ss_family == there.ss_family)
                found = compare(&there, &here);
        (void)close(fd);
        return found;
}

/*
 * What the host file opens for a name: addresses of its own network. Not this machine, unless the
 * name means it; never a metadata service.
 */
static bool
may_dial(const struct dial *d, const struct egress_address *a)
{
        const struct gate *g = d->wall->gate;
        const char *what = egress_address_refused(a, g->networks, g->network_count);

        if (switch_is_off(SWITCH_ADDRESS))
                return true;
        if (what && !egress_address_is_private(what))
                return egress_address_is_loopback(what) && d->reach >= REACH_THIS_HOST;
        if (what && d->reach == REACH_PUBLIC)
                return false;
        if (d->reach >= REACH_THIS_HOST ||
            (!what && egress_address_is_permitted(a, g->networks, g->network_count)))
                return true;
        return find_nearness(a, d->port) < (d->reach == REACH_PRIVATE ? THIS_HOST : NEIGHBOUR);
}

/* The addresses of the host's own name, in the order of attempts. */
static const struct egress_address loopback[] = {
        { { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } },
        { { [15] = 1 } },
};

/* Only keeps the answer, because many dials may wait for the same one. */
static void
resolved(struct resolver_wait *w, const struct egress_address *addresses, size_t count)
{
        struct dial *d = (struct dial *)((char *)w - offsetof(struct dial, wait));

        d->is_found = true;
        d->candidates = count > 0 ? calloc(count, sizeof *d->candidates) : NULL;
        d->count = count;
        if (d->candidates)
                memcpy(d->candidates, addresses, count * sizeof *addresses);
        want_turn(d);
}

/* Keeps only the candidates that may be dialled. */
static enum denial
vet(struct dial *d)
{
        size_t count = 0;

        d->is_vetted = true;
        if (d->count == 0)
                return DENIAL_UNRESOLVED;
        for (size_t i = 0; d->candidates && i < d->count; i++)
                if (may_dial(d, &d->candidates[i]))
                        d->candidates[count++] = d->candidates[i];
        turn_use(&d->wall->turn, d->count * TURN_VETTING);
        d->count = count;
        return count > 0 ? DENIAL_NONE : d->candidates ? DENIAL_ADDRESS : DENIAL_FAILED;
}

static void
dial_turn(struct job *j)
{
        struct dial *d = (struct dial *)((char *)j - offsetof(struct dial, job));
        struct dial_attempt *standing;
        enum denial reason = DENIAL_NONE;

        d->is_wanted = d->is_held;
        if (d->is_held)
                return;
        if (!d->is_found) /* no answer in time */
                reason = DENIAL_UNRESOLVED;
        else if (!d->is_vetted)
                reason = vet(d);
        if (reason != DENIAL_NONE) {
                finish(d, reason);
                return;
        }
        standing = find_standing(d);
        if (!d->stands) /* look-up only */
                finish(d, DENIAL_NONE);
        else if (standing)
                finish(d, loop_watch_move(&standing->watch, d->stands, d->stands->events,
                                          d->stands->ready) < 0
                                  ? DENIAL_FAILED
                                  : DENIAL_NONE);
        else
                go_on(d);
}

void
dial_hold(struct dial *d, bool is_held)
{
        d->is_held = is_held;
        if (!is_held && d->is_wanted)
                want_turn(d);
}

void
dial_start(struct dial *d, struct wall *w, const char *host, uint16_t port, enum admit_reach reach,
           struct loop_watch *stands, void (*done)(struct dial *d, enum denial reason), void *data)
{
        *d = (struct dial){ .wall = w,
                            .gate = w->gate,
                            .data = data,
                            .port = port,
                            .stands = stands,
                            .done = done,
                            .reach = reach,
                            .is_running = true,
                            .until_ms = loop_now_ms() + DIAL_MS,
                            .wait = { .done = resolved } };
        for (size_t i = 0; i < DIAL_ATTEMPTS_MAX; i++)
                d->attempts[i].watch.fd = -1;
        if (loop_timer_set(d->gate->loop, &d->timer, d->until_ms, time_passed) < 0) {
                finish(d, DENIAL_FAILED);
                return;
        }
        if (reach == REACH_HOST_PORT)
                resolved(&d->wait, loopback, sizeof loopback / sizeof *loopback);
        else
                resolver_ask(d->gate->resolver, &d->wait, host, &w->asked);
}

void
dial_look(struct dial *d, struct wall *w, const char *host, uint16_t port, enum admit_reach reach,
          void (*done)(struct dial *d, enum denial reason), void *data)
{
        dial_start(d, w, host, port, reach, NULL, done, data);
}
