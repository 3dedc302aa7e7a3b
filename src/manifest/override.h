/*
 * manifest/override.h - applies values for one run to the block before it is judged.
 *
 * An override is "PATH=VALUE"; PATH is a row of this table, relative to the block:
 *
 *     limits/memory_mb=2048                 a number: sets a missing limit, or lowers the written
 * one metadata/carrel/limits/disk_mb=4096   the same metadata/carrel/limits/pids=500       the same
 *     network/egress=pypi.org               adds an entry to the list
 *     mounts=DIR:AT[:ro]                    adds a mount; DIR is absolute, or ./ and a path below
 * the workspace mounts=VOLUME:AT[:ro]                 adds a mount of a named volume
 *
 * The result is judged like any manifest: by the fields' bounds, by policy and by the host's rules.
 * Its nodes have line 0.
 */
#ifndef CARREL_MANIFEST_OVERRIDE_H
#define CARREL_MANIFEST_OVERRIDE_H

#include <stddef.h>

#include "manifest/manifest.h"

enum { MANIFEST_OVERRIDES_MAX = 64 };

/*
 * Replaces m->block, also within m->root, by a tree with the values. `items` is borrowed as long as
 * the tree lives. e->path is the PATH. Errors: ERROR_POLICY_DENIED (a number above the manifest's;
 * the message has both), ERROR_INVALID_ARGUMENT (unknown path, a value that is not a number or a
 * mount; more than MANIFEST_OVERRIDES_MAX), ERROR_NO_MEMORY.
 */
int manifest_override(struct arena *arena, struct manifest *m, const char *const *items,
                      size_t count, struct error *e);

/*
 * Replaces the value at `path` ("metadata/carrel/commands") of m->block, also within m->root, by
 * `value`, borrowed as long as the tree lives. Maps on the path that do not exist are created.
 * Errors: ERROR_NO_MEMORY.
 */
int manifest_replace(struct arena *arena, struct manifest *m, const char *path,
                     const struct node *value, struct error *e);

#endif
