/*
 * guest/connect.h - connections to ports inside, made by pid 1 and handed out.
 *
 * Whoever holds the other end of the control socket gets a connected TCP socket of the box's own network. 127.0.0.1 is tried
 * first, then ::1. A port whose owner does not accept keeps its row waiting and nobody else.
 */
#ifndef CARREL_GUEST_CONNECT_H
#define CARREL_GUEST_CONNECT_H

#include <poll.h>

#include "wire/message.h"

enum { CONNECTS_MAX = 64, CONNECT_MS = 10000 };

struct connect {
        uint32_t request;
        uint16_t port;
        uint8_t is_used, is_done, is_six;
        int fd;                        /* -1: none */
        int sys;                       /* once done */
        uint64_t deadline_ms;          /* boot clock */
};

struct connects {
        int control;
        unsigned used, held_max;       /* rows in use, and how many may be */
        int has_refusal;
        struct wire_connected refusal; /* there was no row */
        struct connect rows[CONNECTS_MAX];
};

/* `x` is zeroed; `control` must not block; no more than `held_max` sockets are kept at a time. */
void connects_init(struct connects *x, int control, unsigned held_max);

void connects_start(struct connects *x, const struct wire_connect *wanted);

/* What is waited for: at most CONNECTS_MAX entries. Gives their number, and shortens *timeout_ms (-1: none) to the next deadline. */
size_t connects_poll(const struct connects *x, struct pollfd *fds, int *timeout_ms);

/* Looks at what has happened; tells what the socket takes. -1 when nobody listens any more. */
int connects_serve(struct connects *x);

/* Waits an answer for room in the control socket? */
int connects_has_news(const struct connects *x);

#endif
