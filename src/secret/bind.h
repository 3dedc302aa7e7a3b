/*
 * secret/bind.h - the secrets a sandbox was permitted, each name with its value: AIP-19's "bind".
 *
 * For the moment of starting a command, after authorise() has said yes. Values stay where they are: what is given here
 * borrows them. Source: AIP-36 3.5 (environment at spawn); cases A36-085 to 089.
 */
#ifndef CARREL_SECRET_BIND_H
#define CARREL_SECRET_BIND_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "secret/values.h"
#include "spec/spec.h"

struct secret_bound {
        const char *name;       /* environment name, borrowed from the spec */
        const char *slug;       /* for the audit record */
        const char *value;      /* borrowed from the values; never copy it into anything that is printed or kept */
};

/*
 * Binds every name of env.auth, in order; the array lives in `arena`. The rules are asked once more, so that nothing is
 * fetched that may not be bound. `values` may be NULL: no source. Errors: ERROR_AUTH_UNRESOLVABLE with path and reason,
 * ERROR_NO_MEMORY.
 */
int secret_bind(struct arena *arena, const struct spec_env *env, const struct host_rules *rules,
                const struct secret_values *values, const struct secret_bound **ret, size_t *ret_count, struct error *e);

#endif
