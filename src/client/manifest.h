/*
 * client/manifest.h - prepares a manifest for the daemon: reads, resolves and packs it. Only this
 * room uses it.
 */
#ifndef CARREL_CLIENT_MANIFEST_H
#define CARREL_CLIENT_MANIFEST_H

#include "base/arena.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "ref/reads.h"
#include "text/tree.h"
#include "wire/record.h"

struct client_manifest {
        /* the front matter or the block, with references resolved; NULL: the standard manifest */
        const struct node *tree;
        const char *name;      /* for messages, at most 255 bytes; NULL if tree is NULL */
        const char *workspace; /* absolute path, or NULL */
        /* files that were read for it: the daemon mounts them read-only inside */
        struct ref_reads reads;
};

/*
 * Reads the manifest that the config names: its file, its text, or else the SANDBOX.md or
 * WORKSPACE.md of its workspace, if one exists. The result is in `arena`. Errors: those of reading
 * and resolving a manifest; ERROR_WORKSPACE_NOT_FOUND.
 */
int client_manifest_read(struct arena *arena, const struct carrel_config *config,
                         struct client_manifest *ret, struct error *e);

/*
 * Writes those of FIELD_MANIFEST, FIELD_MANIFEST_NAME, FIELD_WORKSPACE and FIELD_READS that are
 * set. Errors: ERROR_NO_MEMORY.
 */
int client_manifest_write(struct arena *arena, const struct client_manifest *m,
                          struct record_writer *w, struct error *e);

#endif
