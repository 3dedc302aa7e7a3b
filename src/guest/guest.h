/*
 * guest/guest.h - pid 1 inside a box: starts commands, reaps, reports; ends when its control socket closes.
 */
#ifndef CARREL_GUEST_GUEST_H
#define CARREL_GUEST_GUEST_H

#include <stddef.h>

struct guest_names { int socket, diag /* -1: the kernel has none */; };

/*
 * Serves the control socket until it closes or the last command ends. Never returns. `names`: sockets of guest/names.h, NULL where there is a wall. `disk`: the root of the private disk, -1: not known. `stock`: sockets of a
 * routed wall, for ports that are asked for later (guest/listen.h). All are borrowed, and closed when executing.
 */
_Noreturn void guest_serve(int control, const struct guest_names *names, int disk, const int *stock, size_t stock_count);

#endif
