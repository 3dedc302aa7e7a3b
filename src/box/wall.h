/*
 * box/wall.h - the wall of a sandbox, kept while gates and keepers come and go.
 */
#ifndef CARREL_BOX_WALL_H
#define CARREL_BOX_WALL_H

#include <stdint.h>

struct box;
struct exec;
struct keeper;
struct wire_wall_denied;

void wall_init(struct box *b);
/* a refusal inside, without a gate. 0, or -errno: it broke the protocol */
int wall_hear_denied(struct box *b, struct wire_wall_denied *d);
void wall_hand_out(struct keeper *k); /* answers WIRE_BOX_WALL */
/* reports how many allowed connections no report named, if there are any */
void wall_say_missed(struct keeper *k);
/* sends what changed since the last report; say_held: only if nothing is queued */
void wall_say_denials(struct keeper *k);
void wall_say_held(struct keeper *k);
/* handles what the gate has reported so far; returns how many refusals this exec had */
uint32_t wall_denied(struct box *b, const struct exec *x);
/* the exec has ended; is_known 0: and was freed */
void wall_forget(struct box *b, const struct exec *x, int is_known);

#endif
