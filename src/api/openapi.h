/*
 * api/openapi.h - the operation table as an OpenAPI 3.1 document.
 */
#ifndef CARREL_API_OPENAPI_H
#define CARREL_API_OPENAPI_H

#include "text/json.h"

/* Writes the whole document, one JSON object. `version` is the program's. Pure. */
void openapi_write(struct json_writer *w, const char *version);

/*
 * Writes the schema of the list `files` of file.write, for REST and for tools. It is no field of a
 * record, because the bytes do not pass through the keeper. Pure.
 */
void openapi_files(struct json_writer *w);

#endif
