/*
 * api/openapi_parts.h - the parts of the OpenAPI document. Only this room uses it. Pure.
 */
#ifndef CARREL_API_OPENAPI_PARTS_H
#define CARREL_API_OPENAPI_PARTS_H

#include "api/operation.h"
#include "text/json.h"

/* {"type": type, "description": help}; `help` may be NULL. */
void openapi_simple(struct json_writer *w, const char *type, const char *help);

/* {"$ref": "#/components/KIND/NAME"} */
void openapi_ref(struct json_writer *w, const char *kind, const char *name);

/*
 * Members of an open schema: its type and description; the bounds of a parameter (NULL: none); its
 * allowed words (a list that ends with NULL).
 */
void openapi_type(struct json_writer *w, const struct api_field *f);
void openapi_bounds(struct json_writer *w, const struct api_field *f, const struct api_param *p);
void openapi_words(struct json_writer *w, const char *const *words);

/* Is this parameter in the request body? */
int openapi_is_in_body(const struct api_param *p);

/*
 * Whole schemas: the result of an operation; its body; a body with these members; the body of
 * file.write, whose bytes do not pass through the keeper.
 */
void openapi_result(struct json_writer *w, const struct operation *o);
void openapi_arguments(struct json_writer *w, const struct operation *o);
void openapi_members(struct json_writer *w, const struct api_param *params, size_t count);
void openapi_batch(struct json_writer *w);

/* The value of components/schemas. */
void openapi_schemas(struct json_writer *w);

#endif
