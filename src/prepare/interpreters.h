/*
 * prepare/interpreters.h - finds the interpreters of this host and gets their versions.
 */
#ifndef CARREL_PREPARE_INTERPRETERS_H
#define CARREL_PREPARE_INTERPRETERS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "prepare/runtime.h"

/*
 * Searches the directories that every box shows, /usr/local/bin, /opt/NAME/bin, and ROOT/bin and
 * ROOT/NAME/bin of the rules' tool_roots. An interpreter whose own files lie elsewhere counts only
 * if tool_roots hold its directory.
 *
 * To get the version, it runs each one, all at once, for at most ten seconds (and two seconds of
 * CPU time). They run with an empty environment, no descriptors but a pipe, no new privileges and,
 * if we are root, as the user nobody. Only files that no one but root and this user may change are
 * run. One that does not answer is left out. `wanted` (NULL: all) says whether to look for a
 * family. Errors: ERROR_NO_MEMORY, ERROR_BACKEND_FAILED.
 */
int interpreters_look(struct arena *arena, const struct host_rules *rules,
                      bool (*wanted)(const char *family), struct runtimes *ret, struct error *e);

/*
 * Copies the first dotted number in a program's output ("Python 3.13.1", "v24.0.0"), at most `room`
 * - 1 bytes; "" if missing.
 */
void interpreters_version(const char *words, char *out, size_t room);

/*
 * Finds the family that has a program named `file` ("python3.13", "node"; not "python3-config").
 * NULL: none.
 */
const struct runtime_family *interpreters_family(const char *file);

#endif
