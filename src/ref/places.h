/*
 * ref/places.h - where references lead on this host: the workspace's directory, and what the host
 * file says.
 *
 *     siblings: {shared: {acl: true, path: /srv/shared}}          workspaces that may be read, by
 * name registry: {"@acme/policy": {file: /etc/carrel/acme.md}}     or the text of the file itself
 *
 * A conformance case has no directory: its `files`, and those of its siblings, are texts in the
 * host map.
 */
#ifndef CARREL_REF_PLACES_H
#define CARREL_REF_PLACES_H

#include "ref/reads.h"
#include "ref/resolve.h"
#include "text/tree.h"

struct ref_places {
        int workspace;           /* directory handle, borrowed; -1: texts of the host map instead */
        const struct node *host; /* the host file's map, borrowed; NULL: no siblings, no registry */
        struct ref_reads
                *reads; /* what was read is added, borrowed; NULL: this judges nothing that runs */
};

/* A reader over the places; borrows them. */
struct ref_reader ref_places_reader(struct ref_places *places);

#endif
