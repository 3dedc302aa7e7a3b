/*
 * guest/connect.h - connections to ports inside the sandbox, opened by pid 1 and handed out.
 *
 * The process at the other end of the control socket receives a TCP socket that is connected in the
 * box's own network. Pid 1 tries 127.0.0.1 first, then ::1. If the server does not accept, only its
 * own row waits.
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
        int fd;               /* -1: none */
        int sys;              /* valid when is_done */
        uint64_t deadline_ms; /* boot clock */
};

struct connects {
        int control;
        unsigned used, held_max; /* rows in use, and their maximum */
        int has_refusal;
        struct wire_connected refusal; /* for a request that found no free row */
        struct connect rows[CONNECTS_MAX];
};

/* `x` is zeroed. `control` must be non-blocking. At most `held_max` sockets are kept at a time. */
void connects_init(struct connects *x, int control, unsigned held_max);

void connects_start(struct connects *x, const struct wire_connect *wanted);

/*
 * Fills in what to poll for, at most CONNECTS_MAX entries, and returns their number. Shortens
 * *timeout_ms (-1: none) to the next deadline.
 */
size_t connects_poll(const struct connects *x, struct pollfd *fds, int *timeout_ms);

/*
 * Handles what has happened, and sends as many answers as the socket takes. -1: the other end is
 * closed.
 */
int connects_serve(struct connects *x);

/* True: an answer waits for room in the control socket. */
int connects_has_news(const struct connects *x);

#endif
