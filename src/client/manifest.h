/*
 * client/manifest.h - a manifest on its way to the daemon: read, resolved, packed. Only this room uses it.
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
        const struct node *tree;       /* the front matter or the block, references followed; NULL: the standard manifest */
        const char *name;              /* for messages, at most 255 bytes; NULL with the tree */
        const char *workspace;         /* absolute, or NULL */
        struct ref_reads reads;        /* files that were read for it: the daemon keeps them read-only inside */
};

/*
 * Reads what the config names: its file, its text, else the SANDBOX.md or WORKSPACE.md of its workspace if there is one. The result
 * lives in `arena`. Errors: those of reading and resolving a manifest; ERROR_WORKSPACE_NOT_FOUND.
 */
int client_manifest_read(struct arena *arena, const struct carrel_config *config, struct client_manifest *ret, struct error *e);

/* Writes FIELD_MANIFEST, FIELD_MANIFEST_NAME, FIELD_WORKSPACE and FIELD_READS, as far as they are there. Errors: ERROR_NO_MEMORY. */
int client_manifest_write(struct arena *arena, const struct client_manifest *m, struct record_writer *w, struct error *e);

#endif
