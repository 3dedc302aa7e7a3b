/*
 * spec/norm.h - the normal form of a block as JSON: what `carrel check --json` prints and cases compare.
 */
#ifndef CARREL_SPEC_NORM_H
#define CARREL_SPEC_NORM_H

#include "spec/spec.h"
#include "text/json.h"

/* Writes the spec as one JSON map: every default filled in, one spelling, null for what is unset; id and version only
 * where they were given. Whatever runs out of memory shows in the writer. */
void spec_norm_write(struct json_writer *w, const struct spec *spec);

#endif
