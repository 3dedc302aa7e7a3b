/*
 * cli/ladder.h - the start of `carrel run`, step by step, before any foreign text is read.
 */
#ifndef CARREL_CLI_LADDER_H
#define CARREL_CLI_LADDER_H

#include "base/error.h"

/*
 * 1. Descriptors: 0, 1, 2 exist; every other inherited one is closed on exec.
 *
 * 2. With privileges: starts the maker, from now on the only process that holds them.
 *
 * 3. With privileges: drops every capability except reading directories, and forbids with Landlock
 * to write, execute or connect.
 *
 * Errors: ERROR_BACKEND_FAILED, ERROR_CAPABILITY_UNAVAILABLE: if a step fails, the run stops there.
 */
int ladder_climb(struct error *e);

/*
 * Only the first step: standard streams are open, and no other descriptor of the caller passes an
 * exec. Errors: ERROR_BACKEND_FAILED.
 */
int ladder_descriptors(struct error *e);

#endif
