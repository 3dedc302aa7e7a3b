/*
 * keeper/port_index.h - finds the sandbox and port of a token without a search of all sandboxes.
 */
#ifndef CARREL_KEEPER_PORT_INDEX_H
#define CARREL_KEEPER_PORT_INDEX_H

#include <stdint.h>

struct sandbox;

/*
 * Adds the tokens of its ports (s->row.ports), which must not change until they are removed. 0, or
 * -1 without memory: then no token is added.
 */
int port_index_add(struct sandbox *s);

/* Removes them; accepts a sandbox that was never added. */
void port_index_remove(struct sandbox *s);

/* The sandbox that has a port with this token and is not being stopped, or NULL. */
struct sandbox *port_index_find(const char *token, uint16_t *ret_port);

#endif
