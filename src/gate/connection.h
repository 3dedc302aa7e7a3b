/*
 * gate/connection.h - one connection out of a wall, from accept(2) to its end.
 */
#ifndef CARREL_GATE_CONNECTION_H
#define CARREL_GATE_CONNECTION_H

#include "gate/listener.h"

/* Accepts the connections that wait on a listener. */
void connection_accept(struct listener *l);

/* Ends the connection with a reset to both sides. */
void connection_reset(struct connection *c);

/* Reports that no more bytes pass, once. Returns the next connection of the wall. */
struct connection *connection_report(struct connection *c);

/*
 * No process is inside any more: passes on what it had sent, as far as servers take it at once. So
 * it does not depend on time how much is recorded.
 */
void connection_drain_all(struct wall *w);

/*
 * After a change of the allow list: resets and reports each connection that the list no longer
 * allows.
 */
void connection_recheck_all(struct wall *w);

/* The keeper has answered about the bytes of the day: each of them gets its turn. */
void connection_go_on_all(struct wall *w);

/* Frees the connections that ended in this turn. */
void connection_reap(struct gate *g);

#endif
