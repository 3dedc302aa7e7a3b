/*
 * boxstate/wall_state.c - what of a wall outlives its gate.
 *
 * Room: boxstate (words). Touches: mem, fd.
 * Theory: a gate may ask for what it had asked for before it was killed, so each answer is the same
 * however often it is asked: a pair of listeners that is is held already is returned again, and so
 * is a name that is known. What does not find room is refused to the gate, never dropped unsaid.
 */
#include "boxstate/wall_state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 1024, AT_ONCE = 64 };

void
wall_state_init(struct wall_state *h, int (*ask)(void *data, const struct wire_wall_listen *wanted),
                uint32_t (*find_exec)(void *data, const struct wire_wall_denied *d), void *data)
{
        memset(h, 0, sizeof *h);
        h->link = -1;
        h->ask = ask;
        h->find_exec = find_exec;
        h->data = data;
        refusals_init(&h->refusals, NUMBER_REFUSALS_LISTED, NUMBER_REFUSALS_HELD);
}

int
wall_state_take(struct wall_state *h, struct wire_message *m, const void *body)
{
        const struct wall_listener *listeners = body;
        size_t count = m->len / sizeof *listeners;

        if (count > 0 && listeners[count - 1].port == 0) {
                h->is_routed = true;
                h->stock = listeners[--count].index;
        }
        if (h->socket_count > 0 || m->len % sizeof *listeners != 0 || count > WALL_PORTS_MAX ||
            m->fd_count != WALL_FIXED + count)
                return -EPROTO;
        for (size_t i = 0; i < count; i++)
                h->ports[i] = listeners[i].port;
        for (size_t i = 0; i < m->fd_count; i++) {
                h->sockets[i] = m->fds[i];
                m->fds[i] = -1;
        }
        h->socket_count = m->fd_count;
        return 0;
}

/* -- the link ---------------------------------------------------------------------------------- */

void
wall_state_unlink(struct wall_state *h)
{
        if (h->link >= 0)
                (void)close(h->link);
        h->link = -1;
        for (size_t i = 0; i < WALL_STATE_WAITING_MAX; i++)
                h->waiting[i].is_told =
                        true; /* the gate that asked has gone: the answer is kept, and not sent */
}

static size_t
list_listeners(const struct wall_state *h, int *fds, struct wall_listener *listeners)
{
        size_t count = 0;

        for (size_t i = WALL_FIXED; i < h->socket_count; i++)
                listeners[count++] = (struct wall_listener){ .port = h->ports[i - WALL_FIXED] };
        memcpy(fds, h->sockets, h->socket_count * sizeof *fds);
        for (size_t i = 0; i < h->pair_count; i++)
                for (size_t family = 0; family < 2 && h->pairs[i].fds[family] >= 0; family++) {
                        fds[WALL_FIXED + count] = h->pairs[i].fds[family];
                        listeners[count++] = (struct wall_listener){ .port = h->pairs[i].port,
                                                                     .index = h->pairs[i].index };
                }
        return count;
}

int
wall_state_link(struct wall_state *h, int fds[WALL_STATE_FDS_MAX + 1], size_t *ret_fd_count,
                struct wall_listener listeners[WALL_STATE_LISTENERS_MAX],
                size_t *ret_listener_count)
{
        int pair[2];

        if (h->socket_count == 0)
                return -ENOENT;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -errno;
        wall_state_unlink(h);
        h->link = pair[0];
        h->told = 0;
        h->is_counted = h->is_asked = h->is_begun = false;
        fds[0] = pair[1];
        *ret_listener_count = list_listeners(h, fds + 1, listeners);
        *ret_fd_count = 1 + WALL_FIXED + *ret_listener_count;
        return 0;
}

/* -- names ------------------------------------------------------------------------------------- */

static struct wall_state_name *
find_name(struct wall_state *h, uint32_t index)
{
        for (size_t i = 0; i < h->name_count; i++)
                if (h->names[i].index == index)
                        return &h->names[i];
        return NULL;
}

/* A row for a new name: the oldest retired one's when there are too many. NULL: none. */
static struct wall_state_name *
take_row(struct wall_state *h)
{
        struct wall_state_name *more;

        if (h->name_count == WALL_STATE_NAMES_MAX) {
                for (size_t i = 0; i < h->name_count; i++)
                        if (h->names[i].is_retired) {
                                free(h->names[i].host);
                                memmove(&h->names[i], &h->names[i + 1],
                                        (h->name_count - i - 1) * sizeof *h->names);
                                h->name_count--;
                                h->told -= i < h->told;
                                break;
                        }
        }
        if (h->name_count == WALL_STATE_NAMES_MAX)
                return NULL;
        if (h->name_count == h->name_room) {
                size_t room = h->name_room > 0 ? 2 * h->name_room : 16;

                more = realloc(h->names, room * sizeof *more);
                if (!more)
                        return NULL;
                h->names = more;
                h->name_room = room;
        }
        h->names[h->name_count] = (struct wall_state_name){ .index = 0 };
        return &h->names[h->name_count++];
}

static void
close_pair(const struct wall_state_pair *p)
{
        for (size_t family = 0; family < 2; family++)
                if (p->fds[family] >= 0)
                        (void)close(p->fds[family]);
}

static void
close_pairs(struct wall_state *h, uint32_t index)
{
        for (size_t i = h->pair_count; i-- > 0;) {
                if (h->pairs[i].index != index)
                        continue;
                close_pair(&h->pairs[i]);
                h->pairs[i] = h->pairs[--h->pair_count];
        }
}

/* 0, or -1: the gate's link is closed, because the address of a name that is not kept could later
 * be given to another name. */
static int
named(struct wall_state *h, const struct wire_wall_named *n)
{
        struct wall_state_name *row = find_name(h, n->index);
        bool was_told = h->is_begun;
        char *host;

        if (n->is_retired &&
            n->host[0] ==
                    '\0') { /* the name of an address is kept: the next gate receives it too */
                if (row)
                        row->is_retired = true;
                close_pairs(h, n->index);
                return 0;
        }
        host = strdup(n->host);

        if (!row && host)
                row = take_row(h);
        if (!row || !host) {
                free(host);
                return -1;
        }
        free(row->host);
        *row = (struct wall_state_name){ n->index, n->is_retired != 0, host };
        if (row->is_retired)
                close_pairs(h, n->index);
        if (was_told)                    /* lint: the row owns the host now */
                h->told = h->name_count; /* it was the gate itself that told us */
        return 0;
}

/* -1: the gate is gone. */
static int
tell_names(struct wall_state *h)
{
        while (!h->is_begun) {
                struct wire_wall_named n = { .index = 0 };
                int result;

                if (h->told == h->name_count && !h->is_counted) {
                        result = wire_send(h->link, WIRE_WALL_COUNTED, &h->counted,
                                           sizeof h->counted, NULL, 0);
                } else if (h->told == h->name_count && h->allowed && !h->is_asked) {
                        result = wire_send(h->link, WIRE_WALL_ALLOWED, NULL, 0, NULL, 0);
                } else if (h->told == h->name_count) {
                        result = wire_send(h->link, WIRE_WALL_BEGIN, NULL, 0, NULL, 0);
                } else {
                        n.index = h->names[h->told].index;
                        n.is_retired = h->names[h->told].is_retired;
                        memcpy(n.host, h->names[h->told].host, strlen(h->names[h->told].host) + 1);
                        result = wire_send(h->link, WIRE_WALL_NAMED, &n, sizeof n, NULL, 0);
                }
                if (result < 0)
                        return result == -EAGAIN ? 0 : -1;
                if (h->told == h->name_count && !h->is_counted)
                        h->is_counted = true;
                else if (h->told == h->name_count && h->allowed && !h->is_asked)
                        h->is_asked = true;
                else if (h->told == h->name_count)
                        h->is_begun = true;
                else
                        h->told++;
        }
        return 0;
}

/* -- listeners --------------------------------------------------------------------------------- */

static int
answer(struct wall_state *h, uint32_t request, int sys, const int *fds)
{
        const struct wire_wall_listened told = { request, sys };
        int result = wire_send(h->link, WIRE_WALL_LISTENED, &told, sizeof told, fds,
                               sys != 0 || !fds ? 0
                               : fds[1] < 0     ? 1
                                                : 2);

        /* untold, it is asked for again; a gate that has left may have reported before it did */
        return result < 0 && result != -EPIPE && !wire_is_for_later(result) ? -1 : 0;
}

static int
listen_for(struct wall_state *h, const struct wire_wall_listen *wanted)
{
        const uint32_t index = h->is_routed ? 0 : wanted->index;
        struct wall_state_waiting *row = NULL;
        uint32_t asked = 0;
        int result;

        for (size_t i = 0; i < h->pair_count; i++)
                if (h->pairs[i].index == index && h->pairs[i].port == wanted->port)
                        return answer(h, wanted->request, 0, h->pairs[i].fds);
        for (size_t i = 0; i < WALL_STATE_WAITING_MAX; i++) {
                if (h->waiting[i].number == 0)
                        row = &h->waiting[i];
                else if (h->waiting[i].index == index && h->waiting[i].port == wanted->port)
                        asked = h->waiting[i].number;
        }
        if (!row)
                return answer(h, wanted->request, EAGAIN, NULL);
        if (asked != 0) { /* one answer serves both */
                *row = (struct wall_state_waiting){ asked, wanted->request, index, wanted->port,
                                                    false };
                return 0;
        }
        if (h->pair_count == WALL_STATE_PAIRS_MAX)
                return answer(h, wanted->request, ENFILE, NULL);
        if (++h->last_number == 0)
                h->last_number = 1;
        result = h->ask(h->data, &(struct wire_wall_listen){ .request = h->last_number,
                                                             .index = index,
                                                             .port = wanted->port });
        if (result < 0)
                return answer(h, wanted->request, -result, NULL);
        *row = (struct wall_state_waiting){ h->last_number, wanted->request, index, wanted->port,
                                            false };
        return 0;
}

uint32_t
wall_state_stock(const struct wall_state *h)
{
        uint32_t taken = 0;

        for (size_t i = 0; i < h->pair_count; i++)
                taken += h->pairs[i].index == 0;
        return h->stock > taken ? h->stock - taken : 0;
}

/* A listener at every address is no name's. */
static bool
is_named(struct wall_state *h, uint32_t index)
{
        const struct wall_state_name *n = find_name(h, index);

        return index == 0 || (n && !n->is_retired);
}

static void
pass_on(struct wall_state *h, struct wall_state_waiting *row, int sys, const int *fds)
{
        if (h->link >= 0 && !row->is_told)
                (void)answer(h, row->request, sys, fds);
        *row = (struct wall_state_waiting){ .number = 0 };
}

void
wall_state_listened(struct wall_state *h, struct wire_message *m,
                    const struct wire_wall_listened *got)
{
        struct wall_state_waiting *row = NULL;
        const int *fds = NULL;
        int sys = got->sys;

        for (size_t i = 0; i < WALL_STATE_WAITING_MAX && got->request != 0 && !row; i++)
                row = h->waiting[i].number == got->request ? &h->waiting[i] : NULL;
        if (!row)
                return;
        if (sys == 0 && m->fd_count != (row->index == 0 ? 1 : 2))
                sys = m->fd_count == 0 ? EMFILE : EPROTO;
        if (sys == 0 && (h->pair_count == WALL_STATE_PAIRS_MAX || !is_named(h, row->index)))
                sys = ENFILE;
        if (sys == 0) {
                h->pairs[h->pair_count] = (struct wall_state_pair){
                        row->index, row->port, { m->fds[0], row->index == 0 ? -1 : m->fds[1] }
                };
                fds = h->pairs[h->pair_count++].fds;
                m->fd_count = 0; /* they are held now */
        }
        for (size_t i = 0; i < WALL_STATE_WAITING_MAX; i++)
                if (h->waiting[i].number == got->request)
                        pass_on(h, &h->waiting[i], sys, fds);
}

/* -- what was refused -------------------------------------------------------------------------- */

void
wall_state_make_plain(char *text)
{
        for (; *text != '\0'; text++)
                if (*text <= ' ' || *text > '~')
                        *text = '?';
}

struct wall_state_denial *
wall_state_denial(struct wall_state *h, uint64_t number)
{
        uint64_t at = number <= WALL_STATE_DENIALS_FIRST
                              ? number - 1
                              : WALL_STATE_DENIALS_FIRST + (number - WALL_STATE_DENIALS_FIRST - 1) %
                                                                   WALL_STATE_DENIALS_LAST;

        return number != 0 && h->denials[at].number == number ? &h->denials[at] : NULL;
}

uint64_t
wall_state_denial_after(const struct wall_state *h, uint64_t number)
{
        uint64_t next = number + 1;

        if (next > WALL_STATE_DENIALS_FIRST && h->denied > WALL_STATE_DENIALS_MAX &&
            next <= h->denied - WALL_STATE_DENIALS_LAST)
                next = h->denied - WALL_STATE_DENIALS_LAST + 1;
        return next <= h->denied ? next : 0;
}

/* Tried again and again it is one, with how often. */
static struct wall_state_denial *
find_denial(struct wall_state *h, uint32_t exec, const struct wire_wall_denied *d)
{
        size_t count =
                h->denied < WALL_STATE_DENIALS_MAX ? (size_t)h->denied : WALL_STATE_DENIALS_MAX;

        for (size_t i = 0; i < count; i++)
                if (h->denials[i].exec == exec && refusal_is_same(&h->denials[i].d, d))
                        return &h->denials[i];
        return NULL;
}

static uint32_t
sum_32(uint32_t a, uint32_t b)
{
        return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void
denied(struct wall_state *h, struct wire_wall_denied *d)
{
        uint32_t exec = h->find_exec ? h->find_exec(h->data, d) : 0;
        struct wall_state_denial *one;

        wall_state_make_plain(d->host);
        wall_state_make_plain(d->other);
        refusals_miss(&h->refusals, d->untold);
        refusals_add(&h->refusals, exec, d);
        one = find_denial(h, exec, d);
        if (one) {
                one->d.count = sum_32(one->d.count, d->count);
                one->d.at_ms = d->at_ms > one->d.at_ms ? d->at_ms : one->d.at_ms;
                one->version = h->refusals.version;
                return;
        }
        h->denied++;
        one = &h->denials[h->denied <= WALL_STATE_DENIALS_FIRST
                                  ? h->denied - 1
                                  : WALL_STATE_DENIALS_FIRST +
                                            (h->denied - WALL_STATE_DENIALS_FIRST - 1) %
                                                    WALL_STATE_DENIALS_LAST];
        *one = (struct wall_state_denial){
                .number = h->denied, .exec = exec, .version = h->refusals.version, .d = *d
        };
}

static const char *
address_text(uint16_t family, const uint8_t address[16], char ret[WALL_STATE_ADDRESS_ROOM])
{
        enum { MAPPED = 12 };

        if (family == 0 ||
            !inet_ntop(family == 4 ? AF_INET : AF_INET6, address + (family == 4 ? MAPPED : 0), ret,
                       WALL_STATE_ADDRESS_ROOM))
                ret[0] = '\0';
        return ret;
}

const char *
wall_state_address_text(const struct wire_wall_denied *d, char ret[WALL_STATE_ADDRESS_ROOM])
{
        return address_text(d->family, d->address, ret);
}

const char *
wall_state_allowed_address(const struct wire_wall_allowed *a, char ret[WALL_STATE_ADDRESS_ROOM])
{
        return address_text(a->family, a->address, ret);
}

/* -- hearing ----------------------------------------------------------------------------------- */

static bool
is_text(const char *text)
{
        return memchr(text, '\0', GATE_HOST_ROOM) != NULL;
}

bool
wall_state_denied(struct wall_state *h, struct wire_wall_denied *d)
{
        if (!is_text(d->host) || !is_text(d->other))
                return false;
        denied(h, d);
        return true;
}

static int
hear_allowed(struct wall_state *h, struct wire_wall_allowed *a)
{
        if (!is_text(a->host) || !h->allowed)
                return -1;
        wall_state_make_plain(a->host);
        h->allowed(h->data, a);
        return 0;
}

static int
hear_one(struct wall_state *h, const struct wire_message *m, void *body)
{
        const struct wire_wall_named *n = body;
        struct wire_wall_denied *d = body;

        if (m->fd_count > 0)
                return -1;
        switch (m->kind) {
        case WIRE_WALL_NAMED:
                return m->len == sizeof *n && n->index >= WALL_NAME_FIRST &&
                                       n->index <= WALL_INDEX_MAX && is_text(n->host)
                               ? named(h, n)
                               : -1;
        case WIRE_WALL_LISTEN:
                return m->len == sizeof(struct wire_wall_listen) ? listen_for(h, body) : -1;
        case WIRE_WALL_COUNTED:
                if (m->len != sizeof h->counted)
                        return -1;
                memcpy(&h->counted, body, sizeof h->counted);
                return 0;
        case WIRE_WALL_DENIED:
                return m->len == sizeof *d && wall_state_denied(h, d) ? 0 : -1;
        case WIRE_WALL_ALLOWED:
                return m->len == sizeof(struct wire_wall_allowed) ? hear_allowed(h, body) : -1;
        default:
                return -1;
        }
}

int
wall_state_hear(struct wall_state *h)
{
        _Alignas(8) char body[ROOM];
        struct wire_message m;
        int result = h->link >= 0 ? tell_names(h) : -1;

        for (int i = 0; i < AT_ONCE && result == 0; i++) {
                int got = wire_receive(h->link, 0, &m, body, sizeof body);

                if (got == -EAGAIN)
                        return 0;
                result = got <= 0 ? -1 : hear_one(h, &m, body);
                if (got > 0)
                        wire_message_close(&m);
        }
        if (result < 0)
                wall_state_unlink(h);
        return result;
}

short
wall_state_events(const struct wall_state *h)
{
        return (short)(POLLIN | (h->is_begun ? 0 : POLLOUT));
}

void
wall_state_fini(struct wall_state *h)
{
        wall_state_unlink(h);
        for (size_t i = 0; i < h->socket_count; i++)
                (void)close(h->sockets[i]);
        for (size_t i = 0; i < h->pair_count; i++)
                close_pair(&h->pairs[i]);
        for (size_t i = 0; i < h->name_count; i++)
                free(h->names[i].host);
        free(h->names);
        refusals_fini(&h->refusals);
        h->names = NULL;
        h->socket_count = h->pair_count = h->name_count = h->name_room = 0;
}
