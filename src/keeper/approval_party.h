/*
 * keeper/approval_party.h - whose answers a request for approval needs: the requirements
 * `approval-from` of the sandbox's policies that apply to its operation (policy/requirement.h).
 *
 * P1 Without a requirement any caller may answer that approval.h permits (A3). With requirements
 *    only a named party may answer, also to deny.
 * P2 All requirements must hold: a request is approved once each has the approval of one of its
 *    parties. One denial ends it.
 */
#ifndef CARREL_KEEPER_APPROVAL_PARTY_H
#define CARREL_KEEPER_APPROVAL_PARTY_H

#include "keeper/sandbox.h"

/* A copy, because the judged manifest may go before the request does. All zero: no requirement. */
struct approval_parties {
        unsigned count, approved; /* requirements; a bit for each that holds */
        size_t len;
        char *texts; /* the parties of a requirement, each with its NUL, and an empty text */
};

/* Copies what applies to `operation`. End with approval_parties_fini(). ERROR_NO_MEMORY. */
int approval_parties_init(struct approval_parties *p, const struct spec *spec,
                          const char *operation, struct error *e);
void approval_parties_fini(struct approval_parties *p);

/* Is this caller named by a requirement, and one that may answer (A3)? */
bool approval_parties_have(const struct approval_parties *p, const struct keeper *k,
                           const struct caller *who);

/*
 * May this caller answer? Errors: ERROR_FORBIDDEN "approval_from" with the names of those who may;
 * ERROR_APPROVAL_ANSWERED if nothing is left that needs this caller's approval.
 */
int approval_parties_check(const struct approval_parties *p, const struct keeper *k,
                           const struct caller *who, const char *id, struct error *e);

/* Counts an approval. True: all requirements hold now. */
bool approval_parties_approve(struct approval_parties *p, const struct keeper *k,
                              const struct caller *who);

/* A text for each requirement: "user://ann or user://bob". */
void approval_parties_write(const struct approval_parties *p, struct record_writer *w);

#endif
