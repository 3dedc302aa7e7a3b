/*
 * cli/conformance_doc.h - one case of a sandbox document, for `carrel conformance`.
 */
#ifndef CARREL_CLI_CONFORMANCE_DOC_H
#define CARREL_CLI_CONFORMANCE_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "text/tree.h"

/* Has a file of cases this form: a `base` document, and cases that change it? */
bool conformance_doc_is(const struct node *root);

/*
 * Runs a case of the file `root`. Writes the difference to `why`, "" if there is none.
 * *ret_skipped: the case needs a real sandbox.
 */
void conformance_doc_run(struct arena *arena, const struct node *root, const struct node *test,
                         char *why, size_t room, bool *ret_skipped);

#endif
