/*
 * keeper/box_parts.h - shared by the files about boxes; no other file includes it.
 */
#ifndef CARREL_KEEPER_BOX_PARTS_H
#define CARREL_KEEPER_BOX_PARTS_H

#include <sys/un.h>

#include "keeper/sandbox.h"

/*
 * Deadlines for reporting ready: of one that runs, and of a new one. A virtual machine on a busy
 * host may take 100 s (maker/machine.h), and then says itself why it did not start.
 */
enum { PATIENCE_MS = 30000, MAKE_PATIENCE_MS = 120000 };

/* A new box in the keeper's list, not connected. `s` NULL: it has no sandbox. NULL: no memory. */
struct box *box_new(struct keeper *k, const char *id, struct sandbox *s);

/*
 * Opens STATE/boxes/ID: a descriptor, or -1 with errno. The second function gives the address of
 * the socket in it, valid while the descriptor is open.
 */
int box_open_directory(struct keeper *k, const char *id);
void box_socket_address(struct sockaddr_un *ret, int directory);

/* Handles a message from the box; closes a box that does not report ready in time. */
void box_on_words(struct peer *p, uint32_t events);
void box_on_impatience(struct loop_timer *t);

/* Marks the execs that still ran when the box ended as lost. */
void box_lose_execs(struct box *b);

#endif
