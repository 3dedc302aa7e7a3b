/*
 * gate/control.h - the control socket: messages between the gate and its keeper (wire/gate.h).
 */
#ifndef CARREL_GATE_CONTROL_H
#define CARREL_GATE_CONTROL_H

#include "gate/gate.h"

/* Listens on `fd` and takes it. The gate ends when this socket closes. 0 or -errno. */
int control_open(struct gate *g, int fd);

#endif
