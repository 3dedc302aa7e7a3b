/*
 * gate/connection.h - one connection out of a wall, from accept(2) to its end.
 */
#ifndef CARREL_GATE_CONNECTION_H
#define CARREL_GATE_CONNECTION_H

#include "gate/wall.h"

/* Accepts what waits on a listener of connections. */
void connection_accept(struct listener *l);

/* Ends it with a reset to both sides. */
void connection_reset(struct connection *c);

/* The list changed: those that it no longer allows are reset and told of. */
void connection_recheck_all(struct wall *w);

/* Frees what ended in this turn. */
void connection_reap(struct gate *g);

#endif
