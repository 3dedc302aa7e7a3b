/*
 * cli/doc_replay.h - can a session be replayed exactly? Found by replaying one.
 */
#ifndef CARREL_CLI_DOC_REPLAY_H
#define CARREL_CLI_DOC_REPLAY_H

#include <stdbool.h>

#include "cli/doc_probe.h"
#include "cli/prepare.h"

/*
 * True only if content is kept, the sandbox reaches no destination and gets no secret, and a
 * recorded command, run again by `carrel audit replay`, prints the same bytes. *ret_why: one
 * sentence, for either answer. Errors: those of doc_probe_run().
 */
int doc_replay_try(struct arena *arena, const struct doc_probe *probe, const struct run_way *way,
                   bool *ret_is_supported, const char **ret_why, struct error *e);

#endif
