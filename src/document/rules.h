/*
 * document/rules.h - the rules between fields of a document. Internal to this room.
 */
#ifndef CARREL_DOCUMENT_RULES_H
#define CARREL_DOCUMENT_RULES_H

#include "document/findings.h"
#include "document/options.h"

/* Adds what the rules find. A field that is absent or of another kind is left to the table. */
void document_rules_check(const struct node *root, const struct document_options *options,
                          struct document_findings *findings);

#endif
