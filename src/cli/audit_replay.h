/*
 * cli/audit_replay.h - runs recorded commands again, and compares what they printed.
 *
 * A replay is a command of `carrel run --audit --keep-output` as well: it is recorded, with the
 * member `replay_of`. Then the recordings are compared. A later command of a sandbox of the daemon
 * is run behind all that ran before it, in one sandbox.
 */
#ifndef CARREL_CLI_AUDIT_REPLAY_H
#define CARREL_CLI_AUDIT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/log.h"
#include "base/error.h"

struct replay_request {
        const char *workspace, *file, *host_file; /* as of `carrel run`; NULL: its defaults */
        bool is_json, has_no_keys;
};

/*
 * Checks the log, replays the command whose start or end is entry `seq`, and prints the comparison.
 * Returns 0: it ended and printed the same, and so did those before it; 1: not. Errors:
 * ERROR_INVALID_ARGUMENT with a reason of docs/AUDIT.md, "Replay", those of audit_log_verify(),
 * audit_tree_read(), audit_content_read() and recordings_read(), ERROR_BACKEND_FAILED.
 */
int audit_replay(struct audit_log *log, uint64_t seq, const struct replay_request *request,
                 struct error *e);

#endif
