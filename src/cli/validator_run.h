/*
 * cli/validator_run.h - runs a program that judges calls (judge/question.h) in a sandbox of its
 * own: without network, without mounts, with its time and memory.
 */
#ifndef CARREL_CLI_VALIDATOR_RUN_H
#define CARREL_CLI_VALIDATOR_RUN_H

#include "cli/prepare.h"
#include "daemon/validators.h"
#include "judge/question.h"

/* run_command() of cli/run.h. */
typedef int validator_command(const struct prepare_options *o, int argc, char **argv);

struct validator_run {
        const char *host_file; /* or NULL */
        validator_command *run;
};

/* Runs a program as `carrel run` does (daemon/validators.h). `ctx` is a struct validator_run. */
int validator_run_job(void *ctx, const struct validators_job *job);

/*
 * Starts the process that can make a sandbox for a validator: before the ladder, because later this
 * process cannot. `host_file` may be NULL. Errors: ERROR_BACKEND_FAILED.
 */
int validator_run_start(const char *host_file, validator_command *run, struct error *e);

/* Could the host's rules name a program? `named`: --host, or NULL. */
bool validator_run_may_be_needed(const char *named);

/*
 * The program that these rules (NULL: none) name for the call of `request`: question_find().
 */
int validator_run_find(struct arena *arena, const struct node *rules,
                       const struct judge_request *request, struct validator_program *ret,
                       struct error *e);

/*
 * Asks the program; once after validator_run_start(). 0: allowed. 1: denied, `sentence` says why.
 * -1: ERROR_POLICY_DENIED, reason "validator_failed".
 */
int validator_run_ask(const struct validator_program *program, const struct judge_request *request,
                      char sentence[QUESTION_SENTENCE_ROOM], struct error *e);

/* Ends the process, if it runs. */
void validator_run_end(void);

#endif
