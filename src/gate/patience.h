/*
 * gate/patience.h - accepting without being made to wait.
 */
#ifndef CARREL_GATE_PATIENCE_H
#define CARREL_GATE_PATIENCE_H

#include <netinet/in.h>

/* Once, before anything is accepted. */
void patience_begin(void);

/*
 * accept4(2) of a socket that does not block, close-on-exec; *ret_from is filled. -errno: EAGAIN, nobody is there; EINTR: it did block, because whoever shares the
 * socket took O_NONBLOCK away, and a second or two went by.
 */
int patience_accept(int listener, struct sockaddr_in6 *ret_from);

#endif
