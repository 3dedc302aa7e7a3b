/*
 * gate/control.h - what the gate is told by its keeper (wire/gate.h).
 */
#ifndef CARREL_GATE_CONTROL_H
#define CARREL_GATE_CONTROL_H

#include "gate/gate.h"

/* Listens to `fd`, the gate's from now on; the gate is over when it ends. 0 or -errno. */
int control_open(struct gate *g, int fd);

#endif
