/*
 * manifest/override.h - values of one run laid over what was written, before any of it is judged.
 *
 * An override is "PATH=VALUE"; PATH is a row of this table, relative to the block:
 *
 *     limits/memory_mb=2048                      a number: set where the manifest is silent, or lower than what it says
 *     metadata/carrel/limits/disk_mb=4096        the same
 *     metadata/carrel/limits/pids=500            the same
 *     network/egress=pypi.org                    one more entry of the list
 *     mounts=DIR:AT[:ro]                         one more mount; DIR is absolute, or ./ and a path below the workspace
 *     mounts=VOLUME:AT[:ro]                      one more mount, of a named volume
 *
 * What comes of it is judged like any manifest: by the fields' bounds, by policy and by the host's rules. Its nodes have line 0.
 */
#ifndef CARREL_MANIFEST_OVERRIDE_H
#define CARREL_MANIFEST_OVERRIDE_H

#include <stddef.h>

#include "manifest/manifest.h"

enum { MANIFEST_OVERRIDES_MAX = 64 };

/*
 * Replaces m->block, and the same in m->root, by a tree with the values. `items` is borrowed as long as the tree lives. Errors: ERROR_POLICY_DENIED (a number above
 * what the manifest says; the message has both), ERROR_INVALID_ARGUMENT (no such path, a value that is no number or no mount; more than
 * MANIFEST_OVERRIDES_MAX), ERROR_NO_MEMORY; e->path is the PATH.
 */
int manifest_override(struct arena *arena, struct manifest *m, const char *const *items, size_t count, struct error *e);

#endif
