/*
 * ingress/ingress.h - reverse proxy to ports inside sandboxes. Every request needs the token of a
 * port (case G12).
 */
#ifndef CARREL_INGRESS_INGRESS_H
#define CARREL_INGRESS_INGRESS_H

#include "http/door.h"

/* Serves one accepted connection of the ingress listener; takes the descriptor. */
void ingress_open(struct listener *l, int take_fd);

#endif
