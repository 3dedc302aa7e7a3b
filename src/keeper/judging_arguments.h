/*
 * keeper/judging_arguments.h - the arguments of an operation as validators see them: parameters of
 * the call, with the names of the API.
 */
#ifndef CARREL_KEEPER_JUDGING_ARGUMENTS_H
#define CARREL_KEEPER_JUDGING_ARGUMENTS_H

#include "base/arena.h"
#include "keeper/keeper.h"
#include "text/tree.h"

/*
 * Does the call have its arguments? A call of file.write has them if its caller announced the files
 * (FIELD_WRITES), or gave them whole (FIELD_INPUT).
 */
bool judging_has_arguments(const struct call *c);

/*
 * A map; of file.write a list of maps, one for each file. Texts are borrowed from the call. Errors:
 * ERROR_NO_MEMORY; ERROR_INVALID_ARGUMENT for a malformed FIELD_WRITES or FIELD_INPUT;
 * ERROR_POLICY_DENIED ("content_binary", "content_path") for files that are no text.
 */
int judging_arguments(struct arena *arena, const struct call *c, const struct node **ret,
                      struct error *e);

/* The bytes that FIELD_INPUT of the announced files has. */
uint64_t judging_announced_len(const struct call *c);

#endif
