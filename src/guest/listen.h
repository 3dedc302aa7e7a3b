/*
 * guest/listen.h - listeners on the address of a name, or on every address. Pid 1 opens them and
 * hands them out (wire/gate.h).
 *
 * One answer at a time: until it is sent, pid 1 reads nothing more from the control socket.
 */
#ifndef CARREL_GUEST_LISTEN_H
#define CARREL_GUEST_LISTEN_H

#include "wire/gate.h"

struct listens {
        int control; /* non-blocking */
        int is_due;  /* the answer waits for room in the socket */
        struct wire_wall_listened answer;
        int fds[2];       /* IPv4 and IPv6, or one of the two */
        size_t fd_count;  /* 0: answer.sys is the reason */
        const int *stock; /* sockets of a routed wall */
        size_t stock_count;
};

void listens_start(struct listens *x, const struct wire_wall_listen *wanted);

/* Sends the answer that is due, if the socket takes it. -1: the other end is closed. */
int listens_tell(struct listens *x);

#endif
