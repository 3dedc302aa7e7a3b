/*
 * gate/control.h - what the gate is told by its keeper (wire/gate.h).
 */
#ifndef CARREL_GATE_CONTROL_H
#define CARREL_GATE_CONTROL_H

#include "gate/gate.h"

/* Listens to `fd`, the gate's from now on; the gate is over when it ends. 0 or -errno. */
int control_open(struct gate *g, int fd);

/* Tells the keeper. What does not fit now waits, in order, and so long nothing more is heard of him. */
void control_say(struct gate *g, uint16_t kind, const void *body, size_t len);

#endif
