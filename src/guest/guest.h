/*
 * guest/guest.h - pid 1 inside a box: starts commands, reaps, reports. Ends when its control socket
 * closes.
 */
#ifndef CARREL_GUEST_GUEST_H
#define CARREL_GUEST_GUEST_H

#include <stddef.h>

struct executions_asked;

struct guest_names {
        int socket, diag /* -1: the kernel does not support it */;
};

/*
 * Serves the control socket until it closes or the last command ends. Never returns.
 * `names`: sockets of guest/names.h; NULL if there is a wall. `disk`: the root of the private disk;
 * -1: not known. `asks`: its listener, of guest/executions.h, and what is reported. `stock`:
 * sockets of a routed wall, for ports that are requested later (guest/listen.h). All are borrowed,
 * and closed on exec.
 */
_Noreturn void guest_serve(int control, const struct guest_names *names, int disk,
                           const struct executions_asked *asks, const int *stock,
                           size_t stock_count);

/*
 * The same behind one byte stream (guest/transport.h); `control` is the transport's. Ends when the
 * stream does. In a sandbox of another program: its private disk is not known.
 */
struct transport;
_Noreturn void guest_serve_stream(struct transport *t, int control,
                                  const struct executions_asked *asks);

/* How many descriptors a transport may hold, of those that this process may have. */
unsigned guest_transport_fds(void);

#endif
