/*
 * gate/stand_in.h - answers the connections of a replay from a transcript, instead of dialling.
 *
 *     command --flow--> [socket pair] --player--> the next turn of a recorded connection
 *
 * The gate judges, refuses and passes on as ever; only the other end is here. A player waits for
 * as many bytes as were recorded, compares their digest, and sends what the server answered. If the
 * command sends something else, the connection is reset, and the tape of the wall says where.
 * Of several recorded connections to one destination, the first whose first turn matches is used.
 */
#ifndef CARREL_GATE_STAND_IN_H
#define CARREL_GATE_STAND_IN_H

#include <stdint.h>

#include "egress/admit.h"

struct loop;
struct tape;
struct stand_in; /* of a wall */
struct player;   /* of a connection */

/* Takes a file with a transcript. NULL: it cannot be replayed, or there is no memory. */
struct stand_in *stand_in_new(int take_fd, struct loop *loop, struct tape *tape);
void stand_in_free(struct stand_in *s);

/* What the look-up of a name gave: DENIAL_NONE, or why there was no address. */
enum denial stand_in_look(struct stand_in *s, const char *host, uint16_t port);

/*
 * A connection to this destination. DENIAL_NONE: *ret_fd is its other end, owned by the caller, and
 * *ret_player must be given to player_end(). Else why it was not made: as recorded, or
 * DENIAL_UNREACHABLE if no recorded connection is left. `broken` is called at most once, if the
 * command sends something else; it may call player_end().
 */
enum denial stand_in_dial(struct stand_in *s, const char *host, uint16_t port,
                          void (*broken)(void *data), void *data, int *ret_fd,
                          struct player **ret_player);

/* No more of it passes: it differs if recorded turns of the command are left. Once. */
void player_judge(struct player *p);

/* Frees it. Accepts NULL. */
void player_end(struct player *p);

#endif
