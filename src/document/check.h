/*
 * document/check.h - whether a sandbox document is one that an agent may rely on: the ten sections
 * and their fields, and the rules of the validation checklist.
 *
 * Source: Geodocs "Agent Sandbox Documentation Specification", draft 1.0, "Validation checklist",
 * "Common documentation failures". Where it is silent, docs/DOCUMENT.md says how it is read.
 */
#ifndef CARREL_DOCUMENT_CHECK_H
#define CARREL_DOCUMENT_CHECK_H

#include <stddef.h>

#include "document/findings.h"
#include "document/options.h"
#include "text/tree.h"

/*
 * Adds every error and warning to `findings`. The document is good if findings->error_count is 0
 * afterwards. `root` is borrowed; keys that begin with "@" (JSON-LD) are not looked at. Pure.
 */
void document_check(const struct node *root, const struct document_options *options,
                    struct document_findings *findings);

/*
 * Adds a review_required for each of the four parts whose change needs a review at once: the tier,
 * the egress allow list, the mandatory controls and the data residency. The order of lists does not
 * matter. Returns how many changed. Pure.
 */
size_t document_review(const struct node *old, const struct node *new,
                       struct document_findings *findings);

#endif
