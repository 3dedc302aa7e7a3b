/*
 * spec/sanitize.h - the kinds of data that are removed from output (metadata.carrel.sanitize_output
 * of a manifest, `sanitize_output` of a host file).
 */
#ifndef CARREL_SPEC_SANITIZE_H
#define CARREL_SPEC_SANITIZE_H

#include "text/sanitize.h"
#include "text/tree.h"

/* Every name, and NULL at the end. */
extern const char *const spec_sanitize_words[];

/* The kind of this name, as one bit; 0: unknown. */
unsigned spec_sanitize_bit(const struct node *name);

#endif
