/*
 * judge/json_schema.c - JSON Schema: what each keyword means for a value.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: the schema is read from its tree at each use; nothing is compiled. J1: what cannot be
 * decided within the bounds fails as a whole, also below `not` and `anyOf`, where a failure would
 * allow.
 */
#include "judge/json_schema.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "judge/json_schema_check.h"
#include "judge/pattern.h"
#include "text/utf8.h"

enum { PATTERN_WORK = 64 };

static bool
is_number(const struct node *n)
{
        return n->kind == NODE_INT || n->kind == NODE_FLOAT;
}

struct step { /* from the value down to where it is judged */
        const struct step *up;
        const char *key; /* NULL: an item of a list */
        size_t index;
};

struct judging {
        const struct node *root;
        char *place;
        size_t work;
        unsigned depth;
        unsigned quiet;        /* inside `not`, `anyOf`, `oneOf`: a failure is none yet */
        const char *undecided; /* J1 */
};

struct at {
        const struct node *schema, *value;
        const struct step *step;
};

static bool is_valid(struct judging *j, const struct node *schema, const struct node *value,
                     const struct step *step);

static bool
spend(struct judging *j, size_t work)
{
        j->work += work;
        if (j->work > JSON_SCHEMA_WORK_MAX && !j->undecided)
                j->undecided = "limit";
        return !j->undecided;
}

static size_t
write_step(const struct step *step, char *text, size_t room)
{
        size_t used;
        int wrote;

        if (!step || !step->up)
                return 0;
        used = write_step(step->up, text, room);
        if (used >= room)
                return room;
        if (step->key)
                wrote = snprintf(text + used, room - used, "%s%s", used ? "/" : "", step->key);
        else
                wrote = snprintf(text + used, room - used, "%s%zu", used ? "/" : "", step->index);
        return wrote < 0 ? used : used + (size_t)wrote;
}

/* The first failure that no other keyword can undo. */
static void
note(struct judging *j, const struct step *step, const char *keyword)
{
        char text[JSON_SCHEMA_PLACE_ROOM] = "";

        if (j->quiet > 0 || j->place[0] != '\0')
                return;
        (void)write_step(step, text, sizeof text);
        (void)snprintf(j->place, JSON_SCHEMA_PLACE_ROOM, "%.120s%s%s", text, text[0] ? ": " : "",
                       keyword);
}

static bool
is_whole(double x)
{
        return (double)(int64_t)x == x;
}

static int
compare(const struct node *a, const struct node *b)
{
        if (a->kind == NODE_INT && b->kind == NODE_INT)
                return (a->integer > b->integer) - (a->integer < b->integer);
        return (a->real > b->real) - (a->real < b->real);
}

static bool
is_equal(struct judging *j, const struct node *a, const struct node *b)
{
        const struct node *y = b->first, *other;

        if (!spend(j, 1))
                return false;
        if (is_number(a) && is_number(b))
                return compare(a, b) == 0;
        if (a->kind != b->kind)
                return false;
        if (a->kind == NODE_STRING)
                return strcmp(a->text, b->text) == 0;
        if (a->kind == NODE_BOOL)
                return a->boolean == b->boolean;
        if (a->kind == NODE_NULL)
                return true;
        if (a->len != b->len)
                return false;
        for (const struct node *x = a->first; x && y; x = x->next, y = y->next) {
                other = a->kind == NODE_MAP && spend(j, b->len) ? node_find(b, x->key) : y;
                if (!other || !is_equal(j, x, other))
                        return false;
        }
        return true;
}

static bool
has_type(const struct node *n, const char *name)
{
        static const char *const names[] = { "null",   "boolean", "integer", "number",
                                             "string", "array",   "object" };

        if (is_number(n) && strcmp(name, "number") == 0)
                return true;
        if (n->kind == NODE_FLOAT && strcmp(name, "integer") == 0)
                return is_whole(n->real);
        return strcmp(names[n->kind], name) == 0;
}

static bool
eval_type(struct judging *j, const struct at *a, const struct node *n)
{
        (void)j;
        if (n->kind == NODE_STRING)
                return has_type(a->value, n->text);
        node_each(item, n)
        {
                if (has_type(a->value, item->text))
                        return true;
        }
        return false;
}

static bool
eval_enum(struct judging *j, const struct at *a, const struct node *n)
{
        node_each(item, n)
        {
                if (is_equal(j, item, a->value))
                        return true;
        }
        return false;
}

static bool
eval_const(struct judging *j, const struct at *a, const struct node *n)
{
        return is_equal(j, n, a->value);
}

static bool
eval_properties(struct judging *j, const struct at *a, const struct node *n)
{
        bool all = true;

        if (a->value->kind != NODE_MAP)
                return true;
        node_each(member, n)
        {
                const struct node *value =
                        spend(j, a->value->len) ? node_find(a->value, member->key) : NULL;

                if (value)
                        all = is_valid(j, member, value,
                                       &(struct step){ a->step, member->key, 0 }) &&
                              all;
        }
        return all;
}

static bool
matches(struct judging *j, const char *pattern, const char *text)
{
        enum pattern_answer answer;

        if (!spend(j, PATTERN_WORK + strlen(text)))
                return false;
        answer = pattern_match(pattern, text);
        if (answer == PATTERN_NO_MEMORY)
                j->undecided = "limit"; /* and not "differs", which `not` turns round */
        return answer == PATTERN_YES;
}

static bool
eval_pattern_properties(struct judging *j, const struct at *a, const struct node *n)
{
        bool all = true;

        if (a->value->kind != NODE_MAP)
                return true;
        node_each(member, n)
        {
                node_each(value, a->value)
                {
                        if (matches(j, member->key, value->key))
                                all = is_valid(j, member, value,
                                               &(struct step){ a->step, value->key, 0 }) &&
                                      all;
                }
        }
        return all;
}

static bool
is_additional(struct judging *j, const struct node *schema, const char *name)
{
        const struct node *patterns = node_find(schema, "patternProperties");

        if (node_find(node_find(schema, "properties"), name))
                return false;
        if (!patterns)
                return true;
        node_each(member, patterns)
        {
                if (matches(j, member->key, name))
                        return false;
        }
        return true;
}

static bool
eval_additional(struct judging *j, const struct at *a, const struct node *n)
{
        bool all = true;

        if (a->value->kind != NODE_MAP)
                return true;
        node_each(value, a->value)
        {
                if (is_additional(j, a->schema, value->key))
                        all = is_valid(j, n, value, &(struct step){ a->step, value->key, 0 }) &&
                              all;
        }
        return all;
}

static bool
eval_required(struct judging *j, const struct at *a, const struct node *n)
{
        if (a->value->kind != NODE_MAP)
                return true;
        node_each(name, n)
        {
                if (!spend(j, a->value->len) || !node_find(a->value, name->text))
                        return false;
        }
        return true;
}

static bool
eval_prefix(struct judging *j, const struct at *a, const struct node *n)
{
        const struct node *item = a->value->kind == NODE_LIST ? a->value->first : NULL;
        size_t index = 0;
        bool all = true;

        for (const struct node *s = n->first; s && item; s = s->next, item = item->next)
                all = is_valid(j, s, item, &(struct step){ a->step, NULL, index++ }) && all;
        return all;
}

static bool
eval_items(struct judging *j, const struct at *a, const struct node *n)
{
        const struct node *prefix = node_find(a->schema, "prefixItems");
        size_t index = 0;
        bool all = true;

        if (a->value->kind != NODE_LIST)
                return true;
        node_each(item, a->value)
        {
                if (!prefix || index >= prefix->len)
                        all = is_valid(j, n, item, &(struct step){ a->step, NULL, index }) && all;
                index++;
        }
        return all;
}

static bool
eval_unique(struct judging *j, const struct at *a, const struct node *n)
{
        if (a->value->kind != NODE_LIST || !n->boolean)
                return true;
        node_each(item, a->value)
        {
                for (const struct node *other = item->next; other; other = other->next)
                        if (is_equal(j, item, other))
                                return false;
        }
        return true;
}

static size_t
characters(const struct node *n)
{
        size_t count = 0;

        for (size_t i = 0; i < n->len; i++)
                count += ((unsigned char)n->text[i] & 0xc0) != 0x80;
        return count;
}

static bool
eval_count(const struct node *value, enum node_kind kind, const struct node *n, bool is_max)
{
        int64_t count;

        if (value->kind != kind)
                return true;
        count = (int64_t)(kind == NODE_STRING ? characters(value) : value->len);
        return is_max ? count <= n->integer : count >= n->integer;
}

#define COUNT_KEYWORD(name, kind, is_max)                                             \
        static bool name(struct judging *j, const struct at *a, const struct node *n) \
        {                                                                             \
                (void)j;                                                              \
                return eval_count(a->value, kind, n, is_max);                         \
        }
COUNT_KEYWORD(eval_min_items, NODE_LIST, false)
COUNT_KEYWORD(eval_max_items, NODE_LIST, true)
COUNT_KEYWORD(eval_min_length, NODE_STRING, false)
COUNT_KEYWORD(eval_max_length, NODE_STRING, true)
COUNT_KEYWORD(eval_min_properties, NODE_MAP, false)
COUNT_KEYWORD(eval_max_properties, NODE_MAP, true)
#undef COUNT_KEYWORD

static bool
eval_minimum(struct judging *j, const struct at *a, const struct node *n)
{
        (void)j;
        return !is_number(a->value) || compare(a->value, n) >= 0;
}

static bool
eval_maximum(struct judging *j, const struct at *a, const struct node *n)
{
        (void)j;
        return !is_number(a->value) || compare(a->value, n) <= 0;
}

static bool
eval_above(struct judging *j, const struct at *a, const struct node *n)
{
        (void)j;
        return !is_number(a->value) || compare(a->value, n) > 0;
}

static bool
eval_below(struct judging *j, const struct at *a, const struct node *n)
{
        (void)j;
        return !is_number(a->value) || compare(a->value, n) < 0;
}

static bool
eval_multiple(struct judging *j, const struct at *a, const struct node *n)
{
        const struct node *v = a->value;

        (void)j;
        if (!is_number(v))
                return true;
        if (v->kind == NODE_INT && n->kind == NODE_INT)
                return v->integer % n->integer == 0;
        if (n->kind == NODE_INT)
                return is_whole(v->real) && (int64_t)v->real % n->integer == 0;
        /* a quotient of 2^53 or more has no fraction */
        return v->real / n->real >= JSON_SCHEMA_EXACT_MAX ||
               v->real / n->real <= -JSON_SCHEMA_EXACT_MAX || is_whole(v->real / n->real);
}

static bool
eval_pattern(struct judging *j, const struct at *a, const struct node *n)
{
        return a->value->kind != NODE_STRING || matches(j, n->text, a->value->text);
}

static bool
eval_all(struct judging *j, const struct at *a, const struct node *n)
{
        bool all = true;

        node_each(schema, n) all = is_valid(j, schema, a->value, a->step) && all;
        return all;
}

static size_t
count_valid(struct judging *j, const struct at *a, const struct node *n)
{
        size_t count = 0;

        j->quiet++;
        node_each(schema, n) count += is_valid(j, schema, a->value, a->step);
        j->quiet--;
        return count;
}

static bool
eval_any(struct judging *j, const struct at *a, const struct node *n)
{
        return count_valid(j, a, n) > 0;
}

static bool
eval_one(struct judging *j, const struct at *a, const struct node *n)
{
        return count_valid(j, a, n) == 1;
}

static bool
eval_not(struct judging *j, const struct at *a, const struct node *n)
{
        bool result;

        j->quiet++;
        result = !is_valid(j, n, a->value, a->step);
        j->quiet--;
        return result;
}

static bool
eval_reference(struct judging *j, const struct at *a, const struct node *n)
{
        return is_valid(j, json_schema_reference(j->root, n), a->value, a->step);
}

/* -- keywords ---------------------------------------------------------------------------------- */

static const struct {
        const char *name;
        bool (*eval)(struct judging *j, const struct at *a, const struct node *n);
} keywords[] = {
        { "type", eval_type },
        { "enum", eval_enum },
        { "const", eval_const },
        { "properties", eval_properties },
        { "patternProperties", eval_pattern_properties },
        { "additionalProperties", eval_additional },
        { "required", eval_required },
        { "minProperties", eval_min_properties },
        { "maxProperties", eval_max_properties },
        { "prefixItems", eval_prefix },
        { "items", eval_items },
        { "minItems", eval_min_items },
        { "maxItems", eval_max_items },
        { "uniqueItems", eval_unique },
        { "minLength", eval_min_length },
        { "maxLength", eval_max_length },
        { "pattern", eval_pattern },
        { "minimum", eval_minimum },
        { "maximum", eval_maximum },
        { "exclusiveMinimum", eval_above },
        { "exclusiveMaximum", eval_below },
        { "multipleOf", eval_multiple },
        { "allOf", eval_all },
        { "anyOf", eval_any },
        { "oneOf", eval_one },
        { "not", eval_not },
        { "$ref", eval_reference },
};

/* A keyword without a row means nothing for values: json_schema_check() knows them all. */
static bool
holds(struct judging *j, const struct at *a, const struct node *member)
{
        for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
                if (strcmp(keywords[i].name, member->key) == 0)
                        return keywords[i].eval(j, a, member);
        return true;
}

static bool
is_valid(struct judging *j, const struct node *schema, const struct node *value,
         const struct step *step)
{
        struct at a = { schema, value, step };
        bool all = true;

        if (!spend(j, 1))
                return false;
        if (schema->kind == NODE_BOOL) {
                if (!schema->boolean)
                        note(j, step, "false");
                return schema->boolean;
        }
        if (++j->depth > JSON_SCHEMA_DEPTH_MAX)
                j->undecided = "limit";
        node_each(member, schema)
        {
                if (j->undecided)
                        break;
                if (holds(j, &a, member))
                        continue;
                note(j, step, member->key);
                all = false;
        }
        j->depth--;
        return all && !j->undecided;
}

/* NULL: the value can be judged. */
static const char *
find_undecidable(const struct node *n)
{
        const char *found = NULL;

        if (n->kind == NODE_STRING)
                return utf8_valid_len(n->text, n->len) == n->len ? NULL : "text";
        if (n->kind != NODE_LIST && n->kind != NODE_MAP)
                return json_schema_is_inexact(n) ? "number" : NULL;
        for (const struct node *child = n->first; child && !found; child = child->next)
                found = find_undecidable(child);
        return found;
}

bool
json_schema_allows(const struct node *schema, const struct node *value,
                   char place[JSON_SCHEMA_PLACE_ROOM])
{
        struct judging j = { .root = schema, .place = place };
        struct step top = { NULL, NULL, 0 };
        bool result;

        place[0] = '\0';
        j.undecided = find_undecidable(value);
        result = !j.undecided && is_valid(&j, schema, value, &top);
        if (j.undecided)
                (void)snprintf(place, JSON_SCHEMA_PLACE_ROOM, "%s", j.undecided);
        return result && !j.undecided;
}
