/*
 * guest/guest.h - pid 1 inside a box: starts commands, reaps, reports; ends when its control socket closes.
 */
#ifndef CARREL_GUEST_GUEST_H
#define CARREL_GUEST_GUEST_H

#include <stddef.h>

/*
 * Serves the control socket until it closes or the last command ends. Never returns. `stock`: sockets of a routed wall, for ports that are asked for later
 * (guest/listen.h); borrowed, closed when executing.
 */
_Noreturn void guest_serve(int control, const int *stock, size_t stock_count);

#endif
