/*
 * judge/question.h - what a program that judges calls (`program` of a validator in a host file) is
 * asked, and what its answer means.
 *
 * The program gets the call as one JSON object on standard input. Status 0 allows it. Any other
 * status up to 123 denies, with the first line of its output as the reason. Everything else denies:
 * no sandbox, no end in time, a signal, too much output.
 */
#ifndef CARREL_JUDGE_QUESTION_H
#define CARREL_JUDGE_QUESTION_H

#include "judge/message.h"
#include "judge/validator.h"

enum { QUESTION_SENTENCE_ROOM = 256 };

/*
 * The program that these rules (NULL: none) name for a tool; its command has no words if they name
 * none. Errors: of validator_read() for the program.
 */
int question_find(struct arena *arena, const struct node *rules, const char *tool,
                  struct validator_program *ret, struct error *e);

/*
 * Writes the body of WIRE_VALIDATE_THIS (wire/validator.h), at most `room` bytes; `arena` is for
 * its own use. Returns its length; 0: ERROR_POLICY_DENIED, reason "validator_failed": the call is
 * too long for the program.
 */
size_t question_write(struct arena *arena, const struct validator_program *program,
                      const struct judge_request *request, void *out, size_t room, struct error *e);

/*
 * Reads the body of WIRE_VALIDATED. 0: allowed. 1: denied, `sentence` says why. -1:
 * ERROR_POLICY_DENIED, reason "validator_failed".
 */
int question_answer_read(const char *program, const void *body, size_t len,
                         char sentence[QUESTION_SENTENCE_ROOM], struct error *e);

/* ERROR_POLICY_DENIED, reason "validator_failed": there is no answer. Returns -1. */
int question_fail(const char *program, const char *why, struct error *e);

/*
 * ERROR_POLICY_DENIED, reason "invalid": the program denied a call of this tool, and `sentence`
 * says why. Returns -1.
 */
int question_deny(const char *tool, const char *sentence, struct error *e);

#endif
