/*
 * prepare/container.h - finds the container runtime of a manifest on this host.
 */
#ifndef CARREL_PREPARE_CONTAINER_H
#define CARREL_PREPARE_CONTAINER_H

#include "base/error.h"
#include "spec/spec.h"

/*
 * *ret_path: absolute, lives as long as this program. Only in root's own directories of programs:
 * it is started by root, so neither a manifest nor a caller's PATH chooses another place. Errors:
 * ERROR_CAPABILITY_UNAVAILABLE "no_runtime", with the command that installs it.
 */
int container_find(const struct spec *spec, const char **ret_path, struct error *e);

#endif
