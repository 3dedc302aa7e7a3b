/*
 * cli/what_if.h - judges the commands of an audit log by rules that are not in use yet.
 *
 * What a log says of a command is its words. So a command is judged as `carrel run` would judge it
 * without options, with the programs of this machine as they are now. What cannot be judged that
 * way is counted, with the reason, and never guessed.
 */
#ifndef CARREL_CLI_WHAT_IF_H
#define CARREL_CLI_WHAT_IF_H

#include <stdbool.h>

#include "base/error.h"
#include "text/tree.h"

/*
 * Prints each decision of the log at `over` (the directory of a log, or entries that `carrel audit
 * export` printed) that `rules` would make in another way, and counts. `has_executed`: also each
 * program that commands executed. Returns 0: no decision would change; 1: some would; -1: errors of
 * audit_log_read(), ref_file_read() and, for the rules, judge_command().
 */
int what_if(const struct node *rules, const char *over, bool has_executed, bool is_json,
            struct error *e);

#endif
