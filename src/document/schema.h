/*
 * document/schema.h - the table of fields as JSON Schema (draft 2020-12), for `carrel schema
 * --doc`.
 *
 * It describes the canonical spelling. Only code checks the rules between fields.
 */
#ifndef CARREL_DOCUMENT_SCHEMA_H
#define CARREL_DOCUMENT_SCHEMA_H

#include "text/json.h"

void document_schema_write(struct json_writer *w);

#endif
