/*
 * gate/ladder.h - removes the gate's privileges before it reads a byte of a sandbox.
 */
#ifndef CARREL_GATE_LADDER_H
#define CARREL_GATE_LADDER_H

#include <stddef.h>

#include "base/error.h"

/*
 * Applies: no new privileges, no capabilities, no files (Landlock without any rule), no port to
 * listen on, no core dump, no debugger; then the system call filter (FILTER_GATE). Raises the
 * descriptor limit to the hard limit; *ret_files is that number. Errors: ERROR_INTERNAL,
 * ERROR_CAPABILITY_UNAVAILABLE.
 */
int gate_close_world(size_t *ret_files, struct error *e);

#endif
