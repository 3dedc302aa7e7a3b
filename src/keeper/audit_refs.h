/*
 * keeper/audit_refs.h - where the log has the start of each command of a sandbox.
 */
#ifndef CARREL_KEEPER_AUDIT_REFS_H
#define CARREL_KEEPER_AUDIT_REFS_H

#include <stdint.h>

#include "keeper/sandbox.h"
#include "recorder/message.h"

/* The start of this exec is number `seq` of the log `chain`. Without memory it has no reference. */
void audit_refs_note(struct sandbox *s, uint32_t exec, uint64_t seq, const char *chain);

/* "audit://CHAIN/NUMBER" of the start of this exec, in `room`; NULL: not known. */
const char *audit_ref(const struct sandbox *s, uint32_t exec, char room[RECORDER_REF_MAX]);

void audit_refs_free(struct sandbox *s);

#endif
