/*
 * keeper/workspace.h - the digest of a sandbox's workspace before its first command, for
 * `carrel audit replay`.
 *
 *     box made --> open --first command--> asked --answer, or none in time--> the command begins
 */
#ifndef CARREL_KEEPER_WORKSPACE_H
#define CARREL_KEEPER_WORKSPACE_H

#include "keeper/keeper.h"
#include "keeper/sandbox.h"
#include "text/json.h"

enum { WORKSPACE_PATIENCE_MS = 15 * 1000 }; /* the command waits at most so long */

/* Its box is being made: holds the workspace open, if content is kept and it has no other mount. */
void workspace_open(struct sandbox *s);

/* Is there a workspace to ask for, or a digest? */
bool workspace_is_there(const struct sandbox *s);

/*
 * For the first command: CALL_WAITS until the digest is known, or that it is not. The digest can be
 * written until the call that waited returns; a later one needs another.
 */
enum call_state workspace_need(struct call *c, struct sandbox *s);

/* The members `sha256`, `names` and `bytes`, or `error`. */
void workspace_write(const struct sandbox *s, struct json_writer *w);

/* The sandbox is freed, or its box is made again. Calls that wait begin again. */
void workspace_close(struct sandbox *s);

#endif
