/*
 * keeper/secret.h - secrets for one command: the keeper checks access, the fetcher supplies the
 * values. They are wiped with the call.
 *
 *     access check -> values fetched (the call waits) -> sent to the box -> event reported
 */
#ifndef CARREL_KEEPER_SECRET_H
#define CARREL_KEEPER_SECRET_H

#include "keeper/keeper.h"
#include "keeper/sandbox.h"
#include "secret/values.h"

struct call_secrets;

/* Takes the keeper's end of the socket pair with the fetcher; -1: no fetcher, so no values. */
int secret_open(struct keeper *k, int take_fd, struct error *e);

/*
 * Gets the secrets for a command of `s`, whose manifest has been checked. CALL_DONE: the call has
 * all values it needs (perhaps none). CALL_WAITS: it begins again when it has them. CALL_FAILED:
 * refused, and the refusal was sent as an event. Values are never kept for another command.
 */
enum call_state secret_need(struct call *c, struct sandbox *s, struct error *e);

/* The values that were fetched for it; NULL: it needs none. */
const struct secret_values *secret_of_call(const struct call *c);

/* Sends one event for each secret: the command was sent to its box as this exec. */
void secret_tell(struct call *c, struct sandbox *s, uint32_t exec);

/* Call it when the call ends: wipes the values and cancels the wait for them. */
void secret_forget(struct call *c);

#endif
