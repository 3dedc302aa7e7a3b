/*
 * gate/allowed.c - reports to the box which connections were allowed, and what passed over them.
 *
 * Room: gate (acting). Touches: net (the peer of its own sockets; sock_diag of the wall's
 * namespace), the wall's link, clock.
 * Theory: a report costs a message, and a payload opens as many connections as it wants. Therefore
 * a destination is looked up for a report alone, and repetitions within a second are added up.
 * Unlike a refusal (gate/denials.h), a report delays nothing: it waits, added up, while the box is
 * behind. So reports leave most of the link free, and at the end all that wait fit on it.
 */
#include "gate/allowed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/admit.h"
#include "wall/whose.h"
#include "wire/gate.h"
#include "wire/message.h"

enum { OPENED, CLOSED };

/* A destination, and of each kind the report that is held back. Free: nothing is, and until_ms have
 * passed. */
struct allowed_place {
        struct egress_host host;
        uint16_t port;
        uint64_t until_ms[ALLOWED_KINDS];
        struct wire_wall_allowed held[ALLOWED_KINDS];
};

static void fold_later(struct allowed *a);

void
allowed_begin(struct allowed *a, struct loop *loop, const struct loop_watch *link, const int *diag)
{
        *a = (struct allowed){
                .loop = loop, .link = link, .diag = diag, .fold.due_ms = LOOP_NEVER
        };
}

int
allowed_hear(struct allowed *a, size_t len)
{
        if (len != 0 || a->is_asked)
                return -EPROTO;
        a->is_asked = true;
        return 0;
}

static bool
tell(const struct allowed *a, const struct wire_wall_allowed *said, bool is_last)
{
        return a->link->fd >= 0 && (is_last || wire_has_room(a->link->fd)) &&
               wire_send(a->link->fd, WIRE_WALL_ALLOWED, said, sizeof *said, NULL, 0) == 0;
}

/* -- one destination --------------------------------------------------------------------------- */

static bool
is_free(const struct allowed_place *p, uint64_t now)
{
        for (size_t i = 0; i < ALLOWED_KINDS; i++)
                if (p->held[i].count > 0 || p->until_ms[i] > now)
                        return false;
        return true;
}

/* The place of this destination, else a free one; NULL: none is free. */
static struct allowed_place *
find_place(struct allowed *a, const struct allowed_connection *c)
{
        struct allowed_place *unused = NULL;
        uint64_t now = loop_now_ms();

        if (!a->places)
                a->places = calloc(ALLOWED_PLACES, sizeof *a->places);
        for (size_t i = 0; a->places && i < ALLOWED_PLACES; i++) {
                struct allowed_place *p = &a->places[i];

                if (p->port == c->port && strcmp(p->host.text, c->host) == 0)
                        return p;
                if (!unused && is_free(p, now))
                        unused = p;
        }
        if (unused) {
                *unused = (struct allowed_place){ .port = c->port };
                (void)memccpy(unused->host.text, c->host, '\0', sizeof unused->host.text - 1);
        }
        return unused;
}

/* The address that it leads to, and whose process it is. */
static void
look_up(const struct allowed *a, const struct allowed_connection *c, struct wire_wall_allowed *ret)
{
        struct sockaddr_storage peer = { 0 };
        socklen_t len = sizeof peer;

        if (*a->diag >= 0)
                ret->cgroup = wall_whose(*a->diag, false, c->from, c->to);
        if (getpeername(c->server, (struct sockaddr *)&peer, &len) < 0)
                return;
        if (peer.ss_family == AF_INET) {
                ret->family = 4;
                memcpy(ret->address + 12,
                       &((const struct sockaddr_in *)(const void *)&peer)->sin_addr, 4);
        } else if (peer.ss_family == AF_INET6) {
                ret->family = 6;
                memcpy(ret->address, &((const struct sockaddr_in6 *)(const void *)&peer)->sin6_addr,
                       16);
        }
}

static void
forget(struct wire_wall_allowed *held)
{
        held->count = 0;
        held->bytes_out = held->bytes_in = held->duration_ms = 0;
}

/* What was held back becomes part of `one`, which is held back instead. */
static void
hold(struct allowed *a, struct wire_wall_allowed *held, struct wire_wall_allowed *one)
{
        one->count += held->count;
        one->bytes_out += held->bytes_out;
        one->bytes_in += held->bytes_in;
        one->duration_ms += held->duration_ms;
        *held = *one;
        fold_later(a);
}

/* The first of a second is sent, if the link takes it; the sum of the others waits. */
static void
note(struct allowed *a, const struct allowed_connection *c, size_t kind,
     struct wire_wall_allowed *one)
{
        struct allowed_place *p = find_place(a, c);
        struct wire_wall_allowed *held = p ? &p->held[kind] : NULL;

        one->at_ms = loop_now_ms();
        one->count = 1;
        one->is_end = kind == CLOSED;
        if (!p) {
                hold(a, &a->others[kind], one);
                return;
        }
        one->port = c->port;
        (void)memccpy(one->host, c->host, '\0', sizeof one->host - 1);
        if (held->count == 0 && p->until_ms[kind] <= one->at_ms) {
                look_up(a, c, one);
                p->until_ms[kind] = one->at_ms + ALLOWED_FOLD_MS;
                if (tell(a, one, false))
                        return;
        }
        hold(a, held, one);
}

void
allowed_opened(struct allowed *a, const struct allowed_connection *c)
{
        struct wire_wall_allowed one = { .count = 1 };

        if (a->is_asked)
                note(a, c, OPENED, &one);
}

void
allowed_closed(struct allowed *a, const struct allowed_connection *c, uint64_t bytes_out,
               uint64_t bytes_in, uint64_t duration_ms)
{
        struct wire_wall_allowed one = { .bytes_out = bytes_out,
                                         .bytes_in = bytes_in,
                                         .duration_ms = duration_ms };

        if (a->is_asked)
                note(a, c, CLOSED, &one);
}

/* -- what is held back ------------------------------------------------------------------------- */

/* What does not fit on the link waits further. */
static void
tell_held(struct allowed *a, bool is_last)
{
        for (size_t i = 0; a->places && i < (size_t)ALLOWED_PLACES * ALLOWED_KINDS; i++) {
                struct allowed_place *p = &a->places[i / ALLOWED_KINDS];
                struct wire_wall_allowed *held = &p->held[i % ALLOWED_KINDS];

                if (held->count == 0)
                        continue;
                if (!tell(a, held, is_last)) {
                        fold_later(a);
                        return;
                }
                p->until_ms[i % ALLOWED_KINDS] = loop_now_ms() + ALLOWED_FOLD_MS;
                forget(held);
        }
        for (size_t i = 0; i < ALLOWED_KINDS; i++) {
                if (a->others[i].count == 0)
                        continue;
                if (tell(a, &a->others[i], is_last))
                        forget(&a->others[i]);
                else
                        fold_later(a);
        }
}

static void
fold_over(struct loop_timer *t)
{
        tell_held((struct allowed *)((char *)t - offsetof(struct allowed, fold)), false);
}

static void
fold_later(struct allowed *a)
{
        if (a->fold.due_ms == LOOP_NEVER)
                (void)loop_timer_set(a->loop, &a->fold, loop_now_ms() + ALLOWED_FOLD_MS, fold_over);
}

void
allowed_end(struct allowed *a)
{
        tell_held(a, true);
        loop_timer_remove(&a->fold);
        free(a->places);
        a->places = NULL;
        a->is_asked = false;
}
