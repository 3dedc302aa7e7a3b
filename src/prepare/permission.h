/*
 * prepare/permission.h - commands of a provider that runs an interpreter under its own permission
 * model, inside the sandbox: node with --permission.
 */
#ifndef CARREL_PREPARE_PERMISSION_H
#define CARREL_PREPARE_PERMISSION_H

#include "prepare/prepare.h"

/*
 * For p->interpreter: is it on this machine, and are the grants of `config` of the right form?
 * `found` are the interpreters that the host lists; none: not looked for. Errors:
 * ERROR_CAPABILITY_UNAVAILABLE missing or too_old, ERROR_CONFIG_INVALID.
 */
int permission_check(const struct prepared *p, const struct runtimes *found, struct error *e);

/*
 * Replaces the words of a command: the interpreter starts with the grants of its script, or those
 * of the mounts. The words live in `arena`. Without an interpreter, and for a function of the
 * guest, nothing changes. Errors: ERROR_POLICY_DENIED not_interpreter, options or no_grants;
 * ERROR_NO_MEMORY.
 */
int permission_words(struct arena *arena, const struct prepared *p, struct wire_command *command,
                     struct error *e);

#endif
