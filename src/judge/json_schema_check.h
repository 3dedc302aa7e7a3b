/*
 * judge/json_schema_check.h - JSON Schema, draft 2020-12: which keywords are understood.
 *
 * A keyword that is not in the list is an error when the schema is read, `format` among them: a
 * check that is written and not made would be a hole. References lead to `#` and `#/$defs/NAME`
 * alone.
 */
#ifndef CARREL_JUDGE_JSON_SCHEMA_CHECK_H
#define CARREL_JUDGE_JSON_SCHEMA_CHECK_H

#include <stdbool.h>

#include "base/error.h"
#include "text/tree.h"

#define JSON_SCHEMA_EXACT_MAX 9007199254740992.0 /* 2^53 */

/*
 * Are all keywords known, and their values right? Errors: ERROR_SCHEMA_INVALID with the line of the
 * keyword; reason: "keyword", "type", "range", "pattern" or "reference". ERROR_NO_MEMORY.
 */
int json_schema_check(const struct node *schema, struct error *e);

/* The schema that the value of `$ref` leads to; NULL: it leads nowhere. */
const struct node *json_schema_reference(const struct node *root, const struct node *n);

/* A number beyond 2^53 that no int64_t holds, or none: comparisons would be inexact. */
bool json_schema_is_inexact(const struct node *n);

#endif
