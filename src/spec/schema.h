/*
 * spec/schema.h - the field tables as JSON Schema (draft 2020-12), for `carrel schema`.
 *
 * It describes the block in its canonical spelling. Only code checks the full egress grammar,
 * credentials and colliding mounts. metadata.carrel is under $defs, because metadata itself is
 * free-form.
 */
#ifndef CARREL_SPEC_SCHEMA_H
#define CARREL_SPEC_SCHEMA_H

#include "spec/field.h"
#include "text/json.h"

void spec_schema_write(struct json_writer *w);

/* Writes the members type, required and properties of a map with these fields into an open map. */
void spec_schema_members_write(struct json_writer *w, const struct field_set *set);

#endif
