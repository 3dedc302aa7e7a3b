/*
 * cli/audit_replay.h - runs a recorded command again, and compares what it printed.
 *
 * A replay is a command of `carrel run --audit --keep-output` as well: it is recorded, with the
 * member `replay_of`. Then the two recordings are compared.
 */
#ifndef CARREL_CLI_AUDIT_REPLAY_H
#define CARREL_CLI_AUDIT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/log.h"
#include "base/error.h"

struct replay_request {
        const char *workspace, *file, *host_file; /* as of `carrel run`; NULL: its defaults */
        bool is_json;
};

/*
 * Replays the command whose exec.ended is entry `seq` of `log`, and prints the comparison. Returns
 * 0: it ended and printed the same; 1: not. Errors: ERROR_INVALID_ARGUMENT with the reason
 * ("replay_content", "replay_words", "replay_terminal", "replay_input", "replay_workspace",
 * "replay_manifest", "replay_secrets", "replay_environment"), those of audit_tree_read(), those of
 * audit_log_read() and audit_content_read(), ERROR_BACKEND_FAILED.
 */
int audit_replay(struct audit_log *log, uint64_t seq, const struct replay_request *request,
                 struct error *e);

#endif
