/*
 * prepare/permission.h - commands of a provider that runs an interpreter under its own permission
 * model, inside the sandbox: node with --permission.
 */
#ifndef CARREL_PREPARE_PERMISSION_H
#define CARREL_PREPARE_PERMISSION_H

#include "base/arena.h"
#include "base/error.h"
#include "prepare/runtime.h"
#include "spec/spec.h"
#include "wire/command.h"

/* The parts of struct prepared that decide. */
struct permission {
        const struct spec *spec;
        const char *interpreter;       /* NULL: none, and both functions change nothing */
        const struct runtime *runtime; /* the template; or NULL */
        const char *cwd;
};

/*
 * Is the interpreter on this machine, and are the grants of `config` of the right form?
 * `found` are the interpreters that the host lists; none: not looked for. Errors:
 * ERROR_CAPABILITY_UNAVAILABLE missing or too_old, ERROR_CONFIG_INVALID.
 */
int permission_check(const struct permission *p, const struct runtimes *found, struct error *e);

/*
 * Replaces the words of a command: the interpreter starts with the grants of its script, or those
 * of the mounts. The words live in `arena`. Without an interpreter, and for a function of the
 * guest, nothing changes. Errors: ERROR_POLICY_DENIED not_interpreter, options or no_grants;
 * ERROR_NO_MEMORY.
 */
int permission_words(struct arena *arena, const struct permission *p, struct wire_command *command,
                     struct error *e);

#endif
