/*
 * prepare/sanitize.h - what is removed from the output of a sandbox, by its manifest and by the
 * host file.
 */
#ifndef CARREL_PREPARE_SANITIZE_H
#define CARREL_PREPARE_SANITIZE_H

#include <stdbool.h>

#include "base/error.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * `ret_kinds`: a mask of text/sanitize.h; what either asks for is removed. Errors:
 * ERROR_INVALID_ARGUMENT (reason sanitize_output): a command with a terminal, whose output cannot
 * be sanitised: a program redraws its screen with control sequences, and nothing may be held.
 */
int prepare_sanitize(const struct spec *spec, const struct host_rules *rules, bool has_terminal,
                     unsigned *ret_kinds, struct error *e);

#endif
