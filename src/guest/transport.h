/*
 * guest/transport.h - the guest behind one byte stream (wire/stream.h) instead of a control socket.
 *
 * The transport is a part of pid 1. It holds the other end of pid 1's own control socket and speaks
 * to it as a box would: it makes the pipes of each command, passes them with the order, and carries
 * what they hold. So the rest of the guest is the same, whoever started it.
 */
#ifndef CARREL_GUEST_TRANSPORT_H
#define CARREL_GUEST_TRANSPORT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "wire/flow.h"

enum { TRANSPORT_POLL_MAX = FLOWS_POLL_MAX + 1, TRANSPORT_ENDS_MAX = 1024, TRANSPORT_STREAM = 3 };

struct transport;

/*
 * `port`, the stream to the relay, becomes TRANSPORT_STREAM, the standard streams lead nowhere, and
 * every other descriptor is closed: a command would hold it. 0 or -errno.
 */
int transport_take(int port);

/*
 * `stream`: to the relay, borrowed. `fds_max`: how many descriptors it may hold. *ret_control
 * becomes the guest's end of the control socket, which the caller owns. 0 or -errno. One for each
 * process.
 */
int transport_open(int stream, unsigned fds_max, struct transport **ret, int *ret_control);

/* What the relay sends first: the packed GUEST steps, in the transport's memory. Waits for it. 0 or
 * -errno. */
int transport_receive_plan(struct transport *t, void **ret_plan, size_t *ret_len);

/* Sends one message to the relay, and waits until it is sent: before serving. 0 or -errno. */
int transport_say(struct transport *t, uint16_t kind, const void *body, size_t len);

/*
 * What to poll, at most TRANSPORT_POLL_MAX entries. Shortens *timeout_ms (-1: none). The same array
 * goes to transport_serve(): 0, or -errno: the relay is gone.
 */
size_t transport_poll(struct transport *t, struct pollfd *fds, int *timeout_ms);
int transport_serve(struct transport *t, const struct pollfd *fds, size_t count);

/* True: everything that the guest said has been sent. */
bool transport_is_flushed(struct transport *t);

#endif
