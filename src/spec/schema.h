/*
 * spec/schema.h - the field tables as JSON Schema (draft 2020-12): what `carrel schema` prints.
 *
 * It describes the block in its canonical spelling. Egress beyond its shape, credentials and mounts that collide are
 * judged by code alone. metadata.carrel stands under $defs, since metadata itself is free.
 */
#ifndef CARREL_SPEC_SCHEMA_H
#define CARREL_SPEC_SCHEMA_H

#include "spec/field.h"
#include "text/json.h"

void spec_schema_write(struct json_writer *w);

/* The members type, required and properties of a map with these fields, into an open map. */
void spec_schema_members_write(struct json_writer *w, const struct field_set *set);

#endif
