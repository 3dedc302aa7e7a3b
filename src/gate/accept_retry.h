/*
 * gate/accept_retry.h - accepts a connection without a risk to block.
 */
#ifndef CARREL_GATE_ACCEPT_RETRY_H
#define CARREL_GATE_ACCEPT_RETRY_H

#include <netinet/in.h>

/* Call it once, before the first accept. */
void accept_retry_begin(void);

/*
 * accept4(2): the new socket is non-blocking and close-on-exec; *ret_from is filled. -errno.
 * EAGAIN: no connection waits. EINTR: the call did block for a second or two, because another
 * holder of the socket cleared O_NONBLOCK.
 */
int accept_retry(int listener, struct sockaddr_in6 *ret_from);

#endif
