/*
 * gate/ladder.h - the gate closes the world behind itself before it reads a byte.
 */
#ifndef CARREL_GATE_LADDER_H
#define CARREL_GATE_LADDER_H

#include <stddef.h>

#include "base/error.h"

/*
 * No new privileges, no capabilities, no file (Landlock without any rule), no port to listen on, no core, no debugger; then the filter on system calls
 * (FILTER_GATE). As many descriptors as the hard limit gives; *ret_files is how many. Errors: ERROR_INTERNAL, ERROR_CAPABILITY_UNAVAILABLE.
 */
int gate_close_world(size_t *ret_files, struct error *e);

#endif
