/*
 * door/ingress.h - the way to ports inside: a reverse proxy that lets nobody through without a port's token (G12).
 */
#ifndef CARREL_DOOR_INGRESS_H
#define CARREL_DOOR_INGRESS_H

#include "door/door.h"

/* Serves one accepted connection of the ingress listener; takes the descriptor. */
void ingress_open(struct listener *l, int take_fd);

#endif
