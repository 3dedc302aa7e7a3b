/*
 * guest/listen.h - listeners on the address of a name, or at every address, made by pid 1 and handed out (wire/gate.h).
 *
 * One answer at a time: while it is untold, nothing more is read from the control socket.
 */
#ifndef CARREL_GUEST_LISTEN_H
#define CARREL_GUEST_LISTEN_H

#include "wire/gate.h"

struct listens {
        int control;                   /* does not block */
        int is_due;                    /* the answer waits for room in the socket */
        struct wire_wall_listened answer;
        int fds[2];                    /* IPv4 and IPv6, or one of both */
        size_t fd_count;               /* 0: answer.sys says why */
        const int *stock;              /* sockets of a routed wall */
        size_t stock_count;
};

void listens_start(struct listens *x, const struct wire_wall_listen *wanted);

/* Tells what is due, if the socket takes it; -1 when nobody listens any more. */
int listens_tell(struct listens *x);

#endif
