/*
 * spec/preset.h - named lists of hosts in network.egress: "@npm" means the registries of npm.
 */
#ifndef CARREL_SPEC_PRESET_H
#define CARREL_SPEC_PRESET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { EGRESS_PRESET_HOSTS_MAX = 8 };

struct egress_preset {
        const char *name; /* "@npm" */
        const char
                *hosts[EGRESS_PRESET_HOSTS_MAX + 1]; /* entries of network.egress, ended by NULL */
        const char *help;                            /* one sentence */
};

/* The rows, in the order of the page; NULL past the last. */
const struct egress_preset *egress_preset_at(size_t index);

/* Is this entry a preset name, known or unknown? */
bool egress_preset_is(const char *text);

/*
 * Finds the preset with this name. Errors: ERROR_EGRESS_INVALID "preset", whose hint lists all. The
 * caller sets the path in the error.
 */
int egress_preset_find(const char *text, const struct egress_preset **ret, struct error *e);

#endif
