/*
 * cli/judge.h - judges a command by rules: starts carrel-judge for one judgement.
 */
#ifndef CARREL_CLI_JUDGE_H
#define CARREL_CLI_JUDGE_H

#include "host/programs.h"
#include "judge/message.h"

/*
 * Judges `request`; `programs` says what its names are. The judgement is in `arena`. Errors: of
 * judgement_read() (*ret_list is the number of the rules that cannot be read), and
 * ERROR_POLICY_DENIED, reason "judge_failed", if carrel-judge does not start or does not answer
 * within JUDGE_PATIENCE_MS.
 */
int judge_command(struct arena *arena, const struct judge_request *request,
                  struct host_programs *programs, struct judgement *ret, size_t *ret_list,
                  struct error *e);

#endif
