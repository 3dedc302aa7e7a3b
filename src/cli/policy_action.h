/*
 * cli/policy_action.h - prints what rules say about one program of a command.
 */
#ifndef CARREL_CLI_POLICY_ACTION_H
#define CARREL_CLI_POLICY_ACTION_H

#include "judge/message.h"
#include "text/json.h"

/* The members of an open map: program, written, verdict, reason, entry, meaning. */
void policy_action_members(struct json_writer *w, const struct judge_action *action);

/* One line on standard output: verdict, program, meaning, entry. */
void policy_action_print(const struct judge_action *action);

#endif
