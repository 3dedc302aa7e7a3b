/*
 * keeper/approval.h - operations that wait until a person answers, and what an approval binds.
 *
 *                        answer: approve            the call of the same request begins
 *      REQUESTED ---------------------> APPROVED ------------------------------------> USED
 *       |  |  |                            |
 *       |  |  +-- answer: deny ---> DENIED +-- time is over, not used --> EXPIRED
 *       |  +----- time is over ---> EXPIRED
 *       +-------- its caller or its sandbox has gone, the keeper restarts ---> WITHDRAWN
 *
 * | state     | the call that waits                  | a later call with the same request |
 * |-----------|--------------------------------------|------------------------------------|
 * | REQUESTED | waits, or has approval_required      | asks for itself; of a kind that does not
 * wait: the same id | | APPROVED  | begins, and uses it                  | uses it, if no call
 * waits for it   | | USED      | runs                                 | asks again | | DENIED    |
 * approval_denied with the reason      | asks again                         | | EXPIRED   |
 * approval_expired                     | asks again                         | | WITHDRAWN | is
 * gone, or has the sandbox's error  | asks again                         |
 *
 * A1 An approval binds the SHA-256 of operation, sandbox, parameters, the sandbox's environment,
 *    policy version, and the content of each file of a mounted directory that the command names
 *    (approval_bind.h). It is used once, whether the operation then succeeds or not.
 * A2 Without an answer nothing begins. No setting approves by itself.
 * A3 Who may answer: the owner, or the daemon's own user, on a socket of this machine; a token of
 *    scope approve, which can ask for nothing. A token that can ask can never answer.
 *    If the policy requires an approval from a named party, nobody else may (approval_party.h).
 * A4 The request is computed again right before the command is sent. If it differs, nothing starts.
 * A5 The state is in memory. A restart withdraws every request; nothing begins twice.
 */
#ifndef CARREL_KEEPER_APPROVAL_H
#define CARREL_KEEPER_APPROVAL_H

#include "keeper/sandbox.h"
#include "text/json.h"

enum {
        APPROVAL_ID_LEN = 9,
        /* requests of one owner that wait, and with those that are over; of all owners. What is
         * over goes first, oldest first: the own at APPROVALS_OWNER_KEPT, of any owner at
         * APPROVALS_MAX */
        APPROVALS_OWNER_MAX = 64,
        APPROVALS_OWNER_KEPT = 128,
        APPROVALS_MAX = 4096,
        APPROVAL_REASON_LEN = 201
};

struct approval;

/*
 * For an operation of `s`, whose manifest was checked. CALL_DONE: it needs no approval, or this
 * call has one. CALL_WAITS: the call begins again when it is answered. CALL_FAILED:
 * ERROR_APPROVAL_REQUIRED (the call does not wait), ERROR_APPROVAL_DENIED, ERROR_APPROVAL_EXPIRED,
 * ERROR_QUOTA_EXCEEDED (too many wait), those of approval_bind(). May be called again for the same
 * call.
 */
enum call_state approval_need(struct call *c, struct sandbox *s, struct error *e);

/*
 * The same for a call that must be asked for whatever the lists say: the command rules answered
 * `ask`. `why` is a sentence for the person, borrowed; NULL: none.
 */
enum call_state approval_ask(struct call *c, struct sandbox *s, const char *why, struct error *e);

/* The same for every operation but exec.start, which asks later: for each call, before it begins.
 */
enum call_state approval_gate(struct call *c, struct error *e);

/*
 * Right before the operation has its effect: is it still what was approved (A4)? 0, also for a call
 * that needed no approval; -1: ERROR_APPROVAL_DENIED "changed".
 */
int approval_check(const struct call *c, const struct sandbox *s, struct error *e);

/* The call ended. Accepts a call without one. */
void approval_forget(struct call *c);

/* The connection closes, or cancels its call `serial` (NULL: all): their requests are withdrawn. */
void approval_withdraw(const struct connection *connection, const uint32_t *serial);

/* For the audit log: member `approval` of a call that a person approved: id, digest, by. */
void approval_note(const struct call *c, struct json_writer *w);

/* -- for the operations that list and answer (op_approval.c) ----------------------------------- */

/* In order of their numbers; NULL at the end. `after`: a number, 0 for the first. */
const struct approval *approval_next(uint64_t after);
/* Requests of all owners that wait for an answer. */
size_t approval_waiting(void);
uint64_t approval_number(const struct approval *a);
/* May this caller see it? The owner may, the daemon's own user, and a party that must approve. */
bool approval_is_visible(const struct approval *a, const struct caller *who);
/* NULL: ERROR_APPROVAL_NOT_FOUND, also for one that the caller may not see. */
struct approval *approval_find(const struct caller *who, const char *id, struct error *e);
void approval_write(struct record_writer *w, const void *of, const void *a);
/*
 * Answers it (A3). Wakes no call: approval_wake() does, after the answer was sent. Errors:
 * ERROR_FORBIDDEN (a token that is not of scope approve; not a named party),
 * ERROR_APPROVAL_ANSWERED. After an approval it may still wait, for another party.
 */
int approval_answer(struct approval *a, const struct caller *who, bool is_approved,
                    const char *reason, struct error *e);
void approval_wake(struct approval *a);

#endif
