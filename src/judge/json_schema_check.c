/*
 * judge/json_schema_check.c - JSON Schema: which keywords are understood, and what their values
 * are.
 *
 * Room: judge (deciding, pure). Touches: nothing.
 */
#include "judge/json_schema_check.h"

#include <string.h>

#include "judge/pattern.h"

static const double STEP_MIN = 1e-6; /* of multipleOf */
static const char DRAFT[] = "https://json-schema.org/draft/2020-12/schema";
static const char DEFS[] = "#/$defs/";

/* -- a schema ---------------------------------------------------------------------------------- */

struct reading {
        const struct node *root;
        struct error *e;
};

static int check_schema(struct reading *r, const struct node *schema);

static int
wrong(struct reading *r, const struct node *n, const char *reason, const char *rule)
{
        (void)fail_at(r->e, ERROR_SCHEMA_INVALID, "schema", reason, "%.40s: %s",
                      n->key ? n->key : "a schema", rule);
        r->e->line = n->key ? n->key_line : n->line;
        r->e->column = n->key ? n->key_column : n->column;
        error_hint(r->e, "docs/POLICY.md lists the keywords of JSON Schema that are understood.");
        return -1;
}

bool
json_schema_is_inexact(const struct node *n)
{
        /* "not a number" compares as false */
        return n->kind == NODE_FLOAT &&
               !(n->real > -JSON_SCHEMA_EXACT_MAX && n->real < JSON_SCHEMA_EXACT_MAX);
}

static int
want_any(struct reading *r, const struct node *n)
{
        if (json_schema_is_inexact(n))
                return wrong(r, n, "range", "a number must be between -2^53 and 2^53");
        if (n->kind != NODE_LIST && n->kind != NODE_MAP)
                return 0;
        node_each(child, n)
        {
                if (want_any(r, child) < 0)
                        return -1;
        }
        return 0;
}

static int
want_text(struct reading *r, const struct node *n)
{
        return n->kind == NODE_STRING ? 0 : wrong(r, n, "type", "expected a text");
}

static int
want_draft(struct reading *r, const struct node *n)
{
        return node_is_text(n, DRAFT) ? 0
                                      : wrong(r, n, "keyword", "only draft 2020-12 is understood");
}

static int
want_bool(struct reading *r, const struct node *n)
{
        return n->kind == NODE_BOOL ? 0 : wrong(r, n, "type", "expected true or false");
}

static int
want_count(struct reading *r, const struct node *n)
{
        return n->kind == NODE_INT && n->integer >= 0
                       ? 0
                       : wrong(r, n, "type", "expected an integer, 0 or more");
}

static int
want_number(struct reading *r, const struct node *n)
{
        return (n->kind == NODE_INT || n->kind == NODE_FLOAT) && !json_schema_is_inexact(n)
                       ? 0
                       : wrong(r, n, "type", "expected a number between -2^53 and 2^53");
}

static int
want_step(struct reading *r, const struct node *n)
{
        if (want_number(r, n) < 0)
                return -1;
        return n->real >= STEP_MIN ? 0 : wrong(r, n, "range", "expected 0.000001 or more");
}

static int
want_list(struct reading *r, const struct node *n)
{
        return n->kind == NODE_LIST && n->len > 0
                       ? want_any(r, n)
                       : wrong(r, n, "type", "expected a list that is not empty");
}

static int
want_texts(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_LIST)
                return wrong(r, n, "type", "expected a list of texts");
        node_each(item, n)
        {
                if (item->kind != NODE_STRING)
                        return wrong(r, n, "type", "expected a list of texts");
        }
        return 0;
}

static bool
is_type(const char *name)
{
        static const char *const names[] = { "null",   "boolean", "object", "array",
                                             "number", "string",  "integer" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i], name) == 0)
                        return true;
        return false;
}

static int
want_type(struct reading *r, const struct node *n)
{
        static const char rule[] = "expected null, boolean, object, array, number, string or "
                                   "integer, or a list of them";

        if (n->kind == NODE_STRING)
                return is_type(n->text) ? 0 : wrong(r, n, "type", rule);
        if (n->kind != NODE_LIST || n->len == 0)
                return wrong(r, n, "type", rule);
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || !is_type(item->text))
                        return wrong(r, n, "type", rule);
        }
        return 0;
}

static int
want_expression(struct reading *r, const struct node *n, const char *text)
{
        enum pattern_answer answer = pattern_check(text);

        if (answer == PATTERN_NO_MEMORY)
                return fail(r->e, ERROR_NO_MEMORY, "no memory for a pattern of the policy");
        return answer == PATTERN_YES ? 0 : wrong(r, n, "pattern", PATTERN_RULE);
}

static int
want_pattern(struct reading *r, const struct node *n)
{
        return n->kind == NODE_STRING ? want_expression(r, n, n->text)
                                      : wrong(r, n, "pattern", PATTERN_RULE);
}

static int
want_schemas(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_LIST || n->len == 0)
                return wrong(r, n, "type", "expected a list of schemas");
        node_each(item, n)
        {
                if (check_schema(r, item) < 0)
                        return -1;
        }
        return 0;
}

static int
want_named(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return wrong(r, n, "type", "expected a map of schemas");
        node_each(member, n)
        {
                if (check_schema(r, member) < 0)
                        return -1;
        }
        return 0;
}

static int
want_matched(struct reading *r, const struct node *n)
{
        if (want_named(r, n) < 0)
                return -1;
        node_each(member, n)
        {
                if (want_expression(r, member, member->key) < 0)
                        return -1;
        }
        return 0;
}

static int
want_defs(struct reading *r, const struct node *n)
{
        return n == node_find(r->root, "$defs")
                       ? want_named(r, n)
                       : wrong(r, n, "reference", "only the outermost schema has $defs");
}

const struct node *
json_schema_reference(const struct node *root, const struct node *n)
{
        if (node_is_text(n, "#"))
                return root;
        return n->kind == NODE_STRING && strncmp(n->text, DEFS, sizeof DEFS - 1) == 0 &&
                               !strpbrk(n->text + sizeof DEFS - 1, "/~%")
                       ? node_find(node_find(root, "$defs"), n->text + sizeof DEFS - 1)
                       : NULL;
}

static int
want_reference(struct reading *r, const struct node *n)
{
        return json_schema_reference(r->root, n)
                       ? 0
                       : wrong(r, n, "reference",
                               "expected # or #/$defs/NAME, and the NAME in "
                               "$defs");
}

/* -- keywords ---------------------------------------------------------------------------------- */

static const struct {
        const char *name;
        int (*want)(struct reading *r, const struct node *n);
} keywords[] = {
        { "type", want_type },
        { "enum", want_list },
        { "const", want_any },
        { "properties", want_named },
        { "patternProperties", want_matched },
        { "additionalProperties", check_schema },
        { "required", want_texts },
        { "minProperties", want_count },
        { "maxProperties", want_count },
        { "prefixItems", want_schemas },
        { "items", check_schema },
        { "minItems", want_count },
        { "maxItems", want_count },
        { "uniqueItems", want_bool },
        { "minLength", want_count },
        { "maxLength", want_count },
        { "pattern", want_pattern },
        { "minimum", want_number },
        { "maximum", want_number },
        { "exclusiveMinimum", want_number },
        { "exclusiveMaximum", want_number },
        { "multipleOf", want_step },
        { "allOf", want_schemas },
        { "anyOf", want_schemas },
        { "oneOf", want_schemas },
        { "not", check_schema },
        { "$ref", want_reference },
        { "$defs", want_defs },
        { "$schema", want_draft },
        { "$comment", want_text },
        { "title", want_text },
        { "description", want_text },
        { "default", want_any },
        { "examples", want_list },
};

static int
check_keyword(struct reading *r, const struct node *member)
{
        for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
                if (strcmp(keywords[i].name, member->key) == 0)
                        return keywords[i].want(r, member);
        return wrong(r, member, "keyword", "this keyword of JSON Schema is not understood");
}

static int
check_schema(struct reading *r, const struct node *schema)
{
        if (schema->kind == NODE_BOOL)
                return 0;
        if (schema->kind != NODE_MAP)
                return wrong(r, schema, "type", "a schema is a map, true or false");
        node_each(member, schema)
        {
                if (check_keyword(r, member) < 0)
                        return -1;
        }
        return 0;
}

int
json_schema_check(const struct node *schema, struct error *e)
{
        struct reading r = { schema, e };

        return check_schema(&r, schema);
}
