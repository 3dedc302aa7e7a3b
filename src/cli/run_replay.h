/*
 * cli/run_replay.h - what `carrel run` does otherwise if it replays recorded commands.
 */
#ifndef CARREL_CLI_RUN_REPLAY_H
#define CARREL_CLI_RUN_REPLAY_H

#include "base/error.h"
#include "cli/prepare.h"
#include "prepare/environment.h"
#include "run/options.h"

/*
 * A replay runs with what was recorded, or not at all. Errors: ERROR_INVALID_ARGUMENT
 * ("replay_secrets", "replay_directory", "replay_manifest"), ERROR_NO_MEMORY.
 */
int run_replay_check(const struct run_way *w, const struct replay_options *r, struct error *e);

/* Does the environment have each name that was recorded? Else ERROR_INVALID_ARGUMENT
 * ("replay_environment"). */
int run_replay_check_environment(const struct replay_command *r, const struct environment *env,
                                 struct error *e);

/*
 * No destination can be reached: connections are answered from the recording, or, without one, all
 * are refused. options->wall is not NULL. Errors: ERROR_NO_MEMORY.
 */
int run_replay_close_network(struct run_way *w, const struct replay_options *r,
                             struct run_options *options, struct error *e);

/* Chooses the recorded command `i` as the one that is run. */
void run_replay_choose(struct run_way *w, struct prepare_options *o, size_t i,
                       struct run_options *options);

/* Passes the reference of the last entry on, once. */
void run_replay_say(const struct replay_options *r);

#endif
