/*
 * document/read.h - from the bytes of a sandbox document to its tree.
 */
#ifndef CARREL_DOCUMENT_READ_H
#define CARREL_DOCUMENT_READ_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

/*
 * Reads `len` bytes. `name` is the file's: "x.json" and "x.jsonld" are JSON, "x.md" has the
 * document as front matter, everything else is YAML. A JSON-LD document is in compacted form: the
 * names of fields are its terms. Borrows bytes; the tree lives in `arena`. Errors:
 * ERROR_MANIFEST_SYNTAX and ERROR_NO_MEMORY, as yaml_read() and json_read(). Pure.
 */
int document_read(struct arena *arena, const char *name, const char *bytes, size_t len,
                  const struct node **ret, struct error *e);

#endif
