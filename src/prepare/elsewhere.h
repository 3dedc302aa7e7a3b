/*
 * prepare/elsewhere.h - a sandbox that a provider's program makes elsewhere: the sandbox of the
 * program here, and what the program is asked for.
 */
#ifndef CARREL_PREPARE_ELSEWHERE_H
#define CARREL_PREPARE_ELSEWHERE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * For a provider with a program in the host file; without one *ret_text is NULL, and nothing else
 * changes. *spec becomes the sandbox of the program: its tools, what it may connect to, no mount,
 * limits of its own; *rules permit its tools. *ret_text is what carrel-bridge reads: the program,
 * and what it is asked for, by what *spec said before. All lives in `arena`. Errors:
 * ERROR_NO_MEMORY.
 */
int elsewhere_take(struct arena *arena, const struct spec **spec, const struct host_rules **rules,
                   const char **ret_text, struct error *e);

/* Abilities (bits of enum bridge_ability) that the greeting of a provider's program must have: what
 * the host file says that it can. */
uint32_t elsewhere_needs(const struct host_ability *can);

#endif
