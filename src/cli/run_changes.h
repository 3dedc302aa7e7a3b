/*
 * cli/run_changes.h - which files a command changed, as entries of the audit log of `carrel run
 * --audit`.
 */
#ifndef CARREL_CLI_RUN_CHANGES_H
#define CARREL_CLI_RUN_CHANGES_H

#include "base/error.h"
#include "cli/prepare.h"
#include "text/json.h"

/*
 * Before the command begins: notes what is in the writable mounts. If that is not possible,
 * run_changes_end() says so.
 */
void run_changes_begin(const struct run_way *w);

/*
 * After its last process has ended: records what changed, and nothing if nothing did. `record`
 * appends an entry with this action and frees its output, a JSON object. Errors: the first of
 * `record`.
 */
int run_changes_end(int (*record)(const char *action, struct json_writer *output, struct error *e),
                    struct error *e);

#endif
