/*
 * keeper/op.h - the operations, one function each. Their table is api/operation.def.
 */
#ifndef CARREL_KEEPER_OP_H
#define CARREL_KEEPER_OP_H

#include "keeper/keeper.h"

#define OPERATION(number, NAME, function, ...) call_run op_##function;
#include "api/operation.def"
#undef OPERATION

/*
 * At the start of a keeper: continues to erase the volumes that were removed before, of every
 * owner, between other work.
 */
void volumes_erase_left(struct keeper *k);

#endif
