/*
 * spec/provider.h - the six provider ids that AIP-36 reserves, and the settings of each.
 *
 * The namespace is open: a host may register more ids, and it defines their settings. A reserved id
 * cannot be registered, in any letter case.
 */
#ifndef CARREL_SPEC_PROVIDER_H
#define CARREL_SPEC_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "spec/field.h"

struct provider {
        const char *id;
        const struct field_set *config; /* NULL: any map */
        const char *destroy_on;         /* default of lifecycle.destroy_on; NULL: never */
        const char *help;
};

extern const struct provider providers[];
extern const size_t provider_count;

/* The reserved provider with exactly this id, or NULL. */
const struct provider *provider_find(const char *id);

/* Is this id reserved, ignoring case? */
bool provider_is_reserved(const char *id);

/* Has it the form of an id: lower-case letters, digits and "-", at most 63 characters? */
bool provider_id_check(const char *id);

#endif
