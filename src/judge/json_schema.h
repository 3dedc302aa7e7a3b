/*
 * judge/json_schema.h - JSON Schema, draft 2020-12: is a value valid?
 */
#ifndef CARREL_JUDGE_JSON_SCHEMA_H
#define CARREL_JUDGE_JSON_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "text/tree.h"

enum {
        JSON_SCHEMA_DEPTH_MAX = 64,    /* schemas inside each other, through references too */
        JSON_SCHEMA_WORK_MAX = 200000, /* comparisons of one value */
        JSON_SCHEMA_PLACE_ROOM = 192
};

/*
 * Is `value` valid against a schema that was checked? If not, `place` has where and by which
 * keyword ("path: pattern"). A value that takes more than the bounds above, a number beyond 2^53
 * that no int64_t holds, and text that is not UTF-8 are not valid, whatever the schema says
 * ("limit", "number", "text").
 */
bool json_schema_allows(const struct node *schema, const struct node *value,
                        char place[JSON_SCHEMA_PLACE_ROOM]);

#endif
