/*
 * prepare/private.h - finds where private directories for /tmp and the home can be created.
 */
#ifndef CARREL_PREPARE_PRIVATE_H
#define CARREL_PREPARE_PRIVATE_H

#include "prepare/host.h"
#include "sources/sources.h"

/*
 * Sets *ret_place to STATE/private, which need not exist yet. Adds the nearest existing directory
 * of its path as one more source (sources.h: image). Returns NULL, or a sentence with the reason
 * why no private directory is possible, which lives as long as `arena`.
 */
const char *private_find(struct arena *arena, const struct prepare_host *host,
                         struct sources *sources, const char **ret_place);

#endif
