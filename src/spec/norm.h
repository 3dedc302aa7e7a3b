/*
 * spec/norm.h - the normal form of a block as JSON: `carrel check --json` prints it, and cases
 * compare it.
 */
#ifndef CARREL_SPEC_NORM_H
#define CARREL_SPEC_NORM_H

#include "spec/spec.h"
#include "text/json.h"

/*
 * Writes the spec as one JSON map: all defaults filled in, one spelling, null for an unset value;
 * id and version only if they were given. If memory runs out, the writer is broken.
 */
void spec_norm_write(struct json_writer *w, const struct spec *spec);

#endif
