/*
 * ref/approve.h - the list of operations that wait for a person, from a sandbox document (Geodocs):
 * approve: {document: PATH}.
 *
 *     metadata: {carrel: {approve: {document: ./document.yaml}}}     in a manifest
 *     approve: {document: /etc/carrel/document.yaml}                 in a host file
 *
 * The reference is replaced by tools.human_in_the_loop of the document, so what the document says
 * is what is asked. A document ending with ".json" or ".jsonld" is JSON, with ".md" front matter,
 * any other YAML. Source: Geodocs, tools.human_in_the_loop; names are those of spec/approve.h,
 * compared as they are written.
 */
#ifndef CARREL_REF_APPROVE_H
#define CARREL_REF_APPROVE_H

#include "ref/reads.h"
#include "ref/resolve.h"

/* Does the block name a document, and nothing else? */
bool ref_approve_is_document(const struct manifest *m);

/*
 * Replaces metadata.carrel.approve of m->block by the list of the document that it names; without
 * such a document `m` stays as it is. Errors, with the path metadata/carrel/approve/document and
 * the place of the reference: those of reference_read(), of the reader and of yaml_read() and
 * json_read(); ERROR_SCHEMA_INVALID "choice": the list names what is no operation (message with the
 * line in the document, hint with the names); ERROR_SCHEMA_INVALID "required": the document has no
 * such list; "range": it is too long; ERROR_NO_MEMORY.
 */
int ref_approve_resolve(struct arena *arena, struct manifest *m, const struct ref_reader *reader,
                        struct error *e);

/*
 * The same for `approve` of the host file *tree, whose path is absolute. The file is added to
 * `reads` (NULL: nothing runs). Errors: as above with the path approve/document, and those of
 * ref_file_read(); ERROR_SCHEMA_INVALID "type": a relative path, or other fields beside it.
 */
int ref_approve_of_host(struct arena *arena, const struct node **tree, struct ref_reads *reads,
                        struct error *e);

#endif
