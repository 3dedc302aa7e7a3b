/*
 * secret/bind.h - the secrets a sandbox was permitted, each name with its value: AIP-19's "bind".
 *
 * For the moment of starting a command, after authorise() has said yes. Values stay where they are:
 * what is given here borrows them. Source: AIP-36 3.5 (environment at spawn); cases A36-085 to 089.
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
        const char *name;               /* environment name, borrowed from the spec */
        const char *slug;               /* for the audit record */
        const struct host_grant *grant; /* that gave access; NULL: the secret is the asker's own */
        const char *value; /* borrowed from the values; never copy it into anything that is printed
                              or kept */
};

/*
 * What env.auth may have, in order, before anything is fetched: values are NULL. The array lives in
 * `arena`. `*ret_count` is set also after a refusal: as many were granted before. Errors:
 * ERROR_AUTH_UNRESOLVABLE with path and reason, ERROR_NO_MEMORY.
 */
int secret_wanted(struct arena *arena, const struct spec_env *env, const struct host_rules *rules,
                  struct secret_bound **ret, size_t *ret_count, struct error *e);

/* Says of an error of secret_sources_fetch() which name of env.auth asked. */
void secret_asked_by(const struct spec_env *env, size_t index, struct error *e);

/*
 * Binds every name of env.auth, in order. The rules are asked once more, so that nothing is bound
 * that may not be. `values` may be NULL: no source. Errors: those of secret_wanted().
 */
int secret_bind(struct arena *arena, const struct spec_env *env, const struct host_rules *rules,
                const struct secret_values *values, const struct secret_bound **ret,
                size_t *ret_count, struct error *e);

#endif
