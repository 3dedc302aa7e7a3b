/*
 * cli/ladder.h - the start of `carrel run`, rung by rung, before any foreign text is read.
 */
#ifndef CARREL_CLI_LADDER_H
#define CARREL_CLI_LADDER_H

#include "base/error.h"

/*
 * 1. Descriptors: 0, 1, 2 exist; everything else that was inherited is closed on exec.
 * 2. With privileges: the maker is started, and is from here on the only one that holds them.
 * 3. With privileges: every capability but looking into directories is dropped, nothing may be written, executed or connected to any more (Landlock).
 * Errors: ERROR_BACKEND_FAILED, ERROR_CAPABILITY_UNAVAILABLE: a rung that does not hold is not climbed past.
 */
int ladder_climb(struct error *e);

/* Its first rung alone: standard streams are open, and nothing else of the caller's crosses an execution. Errors: ERROR_BACKEND_FAILED. */
int ladder_descriptors(struct error *e);

#endif
