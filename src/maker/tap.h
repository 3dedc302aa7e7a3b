/*
 * maker/tap.h - the wall of a virtual machine, made before its box.
 */
#ifndef CARREL_MAKER_TAP_H
#define CARREL_MAKER_TAP_H

#include "maker/namespace.h"

/*
 * The TAP step. The wall's sockets are sent over sockets->control, as by a box; the stock and the
 * tap are in *sockets afterwards, and the caller's. 0 or -errno; then nothing is left.
 */
int tap_make(struct namespace_sockets *sockets, const struct step *s);

/* Closes both. The box has its own copies, if it was started. */
void tap_let_go(struct namespace_sockets *sockets);

#endif
