/*
 * keeper/judging.h - rules for commands: a command is judged by carrel-judge before it is sent to
 * its box, while the call waits.
 *
 *     rules? --> a slot (the call waits) --> asked, names looked up --> allow: a program of the
 *                                                                       host file, if one judges;
 *                                                                       the call goes on
 *                                                                   --> deny, 5 s passed: refused
 */
#ifndef CARREL_KEEPER_JUDGING_H
#define CARREL_KEEPER_JUDGING_H

#include "keeper/exec.h"
#include "keeper/keeper.h"
#include "keeper/sandbox.h"

struct call_judging;

/* Takes the keeper's end of the socket pair with carrel-judge. */
int judging_open(struct keeper *k, int take_fd, struct error *e);

/* Do rules apply to commands of this sandbox, whose manifest has been checked? */
bool judging_is_needed(const struct sandbox *s);

/* Was the call's command judged? Then judging_verdict() has the answer. */
bool judging_is_done(const struct call *c);

/* A command, or the call of another tool with its arguments (judging_arguments.h). Borrowed. */
struct judging_subject {
        const struct wire_command *command; /* NULL: of `tool` */
        const char *tool;
};

/*
 * Starts to judge what a call would do, which was not judged yet. CALL_WAITS: the call begins
 * again, with an answer or to try again. CALL_FAILED: ERROR_QUOTA_EXCEEDED, ERROR_NO_MEMORY,
 * ERROR_POLICY_DENIED, ERROR_SCHEMA_INVALID (the program of a validator).
 */
enum call_state judging_begin(struct call *c, struct sandbox *s, const struct judging_subject *of,
                              struct error *e);

/*
 * CALL_DONE: allowed, or a person has approved what the rules do not decide. CALL_WAITS: for a
 * person (approval_ask()). CALL_FAILED: errors of approval_ask(); ERROR_POLICY_DENIED with the
 * program, the rule and its place, or ERROR_SCHEMA_INVALID for rules that cannot be read.
 */
enum call_state judging_verdict(struct call *c, struct sandbox *s, struct error *e);

/* Call it when the call ends. */
void judging_forget(struct call *c);

#endif
