/*
 * keeper/box_parts.h - what the files about boxes share, and nobody else needs.
 */
#ifndef CARREL_KEEPER_BOX_PARTS_H
#define CARREL_KEEPER_BOX_PARTS_H

#include <sys/un.h>

#include "keeper/sandbox.h"

enum { PATIENCE_MS = 30000 /* for a box to say that it is ready */ };

/* One that is not spoken to yet, in the keeper's list. `s` NULL: it belongs to nobody. NULL without memory. */
struct box *box_new(struct keeper *k, const char *id, struct sandbox *s);

/* STATE/boxes/ID: a descriptor, or -1 with errno; and the address of the socket in it, good while it is open. */
int box_open_directory(struct keeper *k, const char *id);
void box_socket_address(struct sockaddr_un *ret, int directory);

/* What a box says, and what happens to one that stays silent. */
void box_on_words(struct peer *p, uint32_t events);
void box_on_impatience(struct loop_timer *t);

/* What still ran when the box went was lost. */
void box_lose_execs(struct box *b);

#endif
