/*
 * keeper/secret.h - secrets for one command: who may is judged here, values come from the fetcher, and are wiped with the call.
 *
 *     access check -> fetched (the call waits) -> handed to the box -> told as an event
 */
#ifndef CARREL_KEEPER_SECRET_H
#define CARREL_KEEPER_SECRET_H

#include "keeper/keeper.h"
#include "keeper/sandbox.h"
#include "secret/values.h"

struct call_secrets;

/* Takes its end of the pair with the fetcher; -1: there is none, and no source of values. */
int secret_open(struct keeper *k, int take_fd, struct error *e);

/*
 * For a command of `s`, whose manifest is judged: CALL_DONE when the call has all values it wants (perhaps none); CALL_WAITS: it begins anew
 * when it has; CALL_FAILED: refused, and told as such. Never kept for another command.
 */
enum call_state secret_need(struct call *c, struct sandbox *s, struct error *e);

/* What came for it; NULL: nothing was wanted. */
const struct secret_values *secret_of_call(const struct call *c);

/* Who wants secrets in this sandbox, as struct prepare_request has it. */
const char *secret_actor(const struct sandbox *s);

/* The command has been handed to its box as this exec: one event for each secret. */
void secret_tell(struct call *c, struct sandbox *s, uint32_t exec);

/* A manifest was refused before there was anything to tell of: because of its secrets? Then that is told. */
void secret_tell_refused(struct sandbox *s, const struct error *e);

/* With the call: wiped, and no longer waited for. */
void secret_forget(struct call *c);

#endif
