/*
 * gate/wall_life.h - a wall from its begin to its end: its link to the box, its list, its sockets.
 *
 *     wall_add --(WIRE_WALL_NAMED...)--> WIRE_WALL_BEGIN --> serves --> wall_drop, or its link ends
 */
#ifndef CARREL_GATE_WALL_LIFE_H
#define CARREL_GATE_WALL_LIFE_H

#include "gate/wall.h"
#include "wire/message.h"

/* Takes the link, the sockets and the policy; on failure it closes them too. 0 or -errno. */
int wall_add(struct gate *g, const struct wire_gate_policy *head, struct policy *take_policy,
             const struct wall_listener *listeners, struct wire_message *take_fds);

/* Replaces the list and the caps. Resets each connection that the new list does not allow. */
void wall_set(struct wall *w, const struct wire_gate_policy *head, struct policy *take_policy);

/*
 * Ends the wall: closes its sockets and resets its connections. It is freed after the last
 * connection.
 */
void wall_drop(struct wall *w);

#endif
