/*
 * prepare/interpreters.h - looks for the interpreters of this host and asks each for its version.
 */
#ifndef CARREL_PREPARE_INTERPRETERS_H
#define CARREL_PREPARE_INTERPRETERS_H

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "prepare/runtime.h"

/*
 * Looks in the directories that every box shows, in /usr/local/bin, in /opt/NAME/bin, and in ROOT/bin and ROOT/NAME/bin of the rules' tool_roots. One
 * whose own files lie elsewhere counts only where tool_roots hold its directory. Each is asked for its version by running it, all at once and for at most ten seconds (and two of a processor), with an empty
 * environment, no descriptors but a pipe, no new privileges and, as root, as nobody; only files that nobody but root and this user may
 * change are run. What does not answer is left out. Errors: ERROR_NO_MEMORY, ERROR_BACKEND_FAILED.
 */
int interpreters_look(struct arena *arena, const struct host_rules *rules, struct runtimes *ret, struct error *e);

/* The first number with points in the words of a program ("Python 3.13.1", "v24.0.0"), at most `room` - 1 bytes; "" if there is none. */
void interpreters_version(const char *words, char *out, size_t room);

/* Is `file` a name that a family's program has ("python3.13", "node"; not "python3-config")? NULL: no. */
const struct runtime_family *interpreters_family(const char *file);

#endif
