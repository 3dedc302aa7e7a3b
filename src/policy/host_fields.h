/*
 * policy/host_fields.h - the fields of a host file as rows, for `carrel schema --host` and
 * docs/HOST.md.
 *
 * A row has name, shape and meaning, and says whether a user's own file may have the field.
 * host_file.c has a reader for each.
 */
#ifndef CARREL_POLICY_HOST_FIELDS_H
#define CARREL_POLICY_HOST_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "spec/field.h"
#include "text/json.h"

enum host_field {
#define HOST_FIELD(name, shape, is_users, help) HOST_FIELD_##name,
#include "policy/host_fields.def"
#undef HOST_FIELD
        HOST_FIELD_MAX
};

/* The row of a field; never NULL. */
const struct field *host_field_row(enum host_field field);

/* May a user's own file have it? */
bool host_field_is_users(enum host_field field);

/* The field with this name, or HOST_FIELD_MAX. */
enum host_field host_field_find(const char *name);

/* All rows as a set, for code that prints sets. */
extern const struct field_set host_file_set;

/* Writes a whole JSON Schema document. */
void host_schema_write(struct json_writer *w);

#endif
