/*
 * gate/control.h - the control socket: messages between the gate and its keeper (wire/gate.h).
 */
#ifndef CARREL_GATE_CONTROL_H
#define CARREL_GATE_CONTROL_H

#include "gate/gate.h"

/* Listens on `fd` and takes it. The gate ends when this socket closes. 0 or -errno. */
int control_open(struct gate *g, int fd);

/*
 * Sends a message to the keeper. If the socket is full, the message waits, in order. While one
 * waits, the gate reads no more messages of the keeper.
 */
void control_say(struct gate *g, uint16_t kind, const void *body, size_t len);

#endif
