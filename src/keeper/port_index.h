/*
 * keeper/port_index.h - which sandbox and port a token leads to, found without looking at the others.
 */
#ifndef CARREL_KEEPER_PORT_INDEX_H
#define CARREL_KEEPER_PORT_INDEX_H

#include <stdint.h>

struct sandbox;

/* Enters the tokens of its ports (s->row.ports), which stay as they are until it is removed. 0, or -1 without memory: then none is entered. */
int port_index_add(struct sandbox *s);

/* Takes them out again; accepts one that was never entered. */
void port_index_remove(struct sandbox *s);

/* The sandbox whose port has this token and which is not being stopped, or NULL. */
struct sandbox *port_index_find(const char *token, uint16_t *ret_port);

#endif
