/*
 * keeper/validating.h - programs that judge calls: carrel-validate runs each in a sandbox of its
 * own, while the call waits.
 *
 *     a place (the call waits) --> asked --> status 0: the call goes on
 *                                        --> another, no answer in time: denied
 */
#ifndef CARREL_KEEPER_VALIDATING_H
#define CARREL_KEEPER_VALIDATING_H

#include "judge/question.h"
#include "keeper/keeper.h"

struct call_validating;

/* Takes the keeper's end of the socket pair with carrel-validate; -1: no such process. */
int validating_open(struct keeper *k, int take_fd, struct error *e);

/* A question: borrowed until it is answered. */
struct validating_question {
        const char *program; /* its first word */
        uint64_t timeout_ms;
        const void *body; /* of question_write() */
        size_t len;
};

/*
 * Asks the program for a call that asks none. CALL_WAITS: the call begins again, with the answer or
 * to ask again. CALL_FAILED: ERROR_POLICY_DENIED "validator_failed", ERROR_QUOTA_EXCEEDED,
 * ERROR_NO_MEMORY.
 */
enum call_state validating_ask(struct call *c, const struct validating_question *q,
                               struct error *e);

/* Is the answer there? */
bool validating_is_done(const struct call *c);

/* Takes the answer: as question_answer_read(). The call may ask another program afterwards. */
int validating_take(struct call *c, char sentence[QUESTION_SENTENCE_ROOM], struct error *e);

/*
 * Ends calls of this connection that wait for a program, and the programs with them; one of this
 * serial alone unless it is NULL.
 */
void validating_withdraw(const struct connection *connection, const uint32_t *serial);

/* Call it when the call ends: its program is ended. */
void validating_forget(struct call *c);

#endif
