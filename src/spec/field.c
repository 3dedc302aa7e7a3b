/*
 * spec/field.c - decodes a map by a table of fields.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows rows and nodes. Knows nothing of what any field means.
 * Theory: first unknown keys, then spellings are merged, then each row is decoded. Faults are in
 * the order of the table. Numbers are exact or refused; only `true` counts as true.
 */
#include "spec/field.h"

#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

enum { KNOWN_MAX = 12 }; /* names in one hint */

static const char *const kind_words[] = {
        [FIELD_TEXT] = "a string",
        [FIELD_UINT] = "an integer",
        [FIELD_BOOL] = "true or false",
        [FIELD_CHOICE] = "a string",
        [FIELD_MAP] = "a map",
        [FIELD_LIST] = "a list",
        [FIELD_ONE_OF] = "one of several forms",
        [FIELD_UNSUPPORTED] = "not supported",
};

const char *
field_kind_words(enum field_kind kind)
{
        return kind_words[kind];
}

/* -- names ------------------------------------------------------------------------------------- */

static const char *
meant(const struct field_set *set, const char *key)
{
        struct nearest n = nearest_begin(key);

        for (size_t i = 0; i < set->count; i++) {
                const struct field *row = &set->rows[i];

                if (row->kind == FIELD_UNSUPPORTED || (row->flags & FIELD_OLD))
                        continue;
                (void)nearest_try(&n, row->name, row->name);
                if (row->camel)
                        (void)nearest_try(&n, row->camel, row->name);
        }
        return n.found;
}

/* "Known here: `a`, `b`." NULL if `set` has too many for one line. */
static const char *
known(struct judge *j, const struct field_set *set)
{
        const char *names = NULL;
        size_t count = 0;

        for (size_t i = 0; i < set->count; i++) {
                const struct field *row = &set->rows[i];

                if (row->kind == FIELD_UNSUPPORTED || (row->flags & FIELD_OLD))
                        continue;
                names = names ? arena_format(j->arena, "%s, `%s`", names, row->name)
                              : arena_format(j->arena, "`%s`", row->name);
                if (!names || ++count > KNOWN_MAX)
                        return NULL;
        }
        return names ? arena_format(j->arena, "Known here: %s.", names) : NULL;
}

bool
field_slug_check(const char *text)
{
        size_t len = strlen(text);
        const char *part = text, *slash = strchr(text, '/');

        if (len < 2 || len > 80 || (slash && strchr(slash + 1, '/')))
                return false;
        for (;; part = slash + 1) {
                size_t part_len = slash && part < slash ? (size_t)(slash - part) : strlen(part);

                if (part_len < 2 || part[0] < 'a' || part[0] > 'z' || part[part_len - 1] == '-')
                        return false;
                for (size_t i = 0; i < part_len; i++)
                        if (!(part[i] >= 'a' && part[i] <= 'z') &&
                            !(part[i] >= '0' && part[i] <= '9') && part[i] != '-')
                                return false;
                if (!slash || part > slash)
                        return true;
        }
}

/* -- folding ----------------------------------------------------------------------------------- */

static void
unknown(struct judge *j, const struct field_set *set, const struct node *member,
        const struct trail *at)
{
        const char *hint = j->advice ? j->advice->key(j, set, member) : NULL,
                   *close = hint ? NULL : meant(set, member->key);

        if (close)
                hint = arena_format(j->arena, "Did you mean `%s`?", close);
        else if (!hint && !set->hint)
                hint = known(j, set);
        judge_error_key(j, member, at,
                        set->code == ERROR_MOUNT_INVALID ? ERROR_SCHEMA_INVALID : set->code,
                        "unknown_field", hint ? hint : set->hint, "there is no field `%s` here",
                        judge_quote(j, member->key));
}

static void
spelling_warn(struct judge *j, const struct field *row, const struct node *member,
              const struct trail *at)
{
        bool is_camel = row->camel && strcmp(member->key, row->camel) == 0;
        bool is_json = j->syntax == MANIFEST_JSON;

        if (row->flags & FIELD_OLD)
                judge_warn(j, member, at, "alias_spelling", "`%s` is another spelling; write `%s`",
                           member->key, row->instead);
        else if (row->camel && is_camel != is_json)
                judge_warn(j, member, at, "alias_spelling", "`%s` is another spelling; write `%s`",
                           member->key, is_json ? row->camel : row->name);
}

static bool
is_same(const struct node *a, const struct node *b)
{
        return a->kind == b->kind && a->text && b->text && a->len == b->len &&
               memcmp(a->text, b->text, a->len) == 0;
}

static bool
same_value(const struct node *a, const struct node *b)
{
        if (a->kind == NODE_INT && b->kind == NODE_INT)
                return a->integer == b->integer;
        if (a->kind == NODE_BOOL && b->kind == NODE_BOOL)
                return a->boolean == b->boolean;
        return is_same(a, b);
}

static void
row_take(struct judge *j, const struct field_set *set, size_t index, const struct node *member,
         const struct trail *at, const struct node *values[FIELD_SET_MAX])
{
        const struct field *row = &set->rows[index];
        struct trail here = { at, member->key, 0 }, canonical = { at, row->name, 0 };

        spelling_warn(j, row, member, &here);
        if (!values[index])
                values[index] = member;
        else if (!same_value(values[index], member))
                judge_error_key(j, member, &canonical, ERROR_ALIAS_CONFLICT, "alias", NULL,
                                "`%s` and `%s` are one field, and their values differ",
                                values[index]->key, member->key);
}

void
fields_fold(struct judge *j, const struct field_set *set, const struct node *map,
            const struct trail *at, const struct node *values[FIELD_SET_MAX])
{
        for (size_t i = 0; i < FIELD_SET_MAX; i++)
                values[i] = NULL;
        node_each(member, map)
        {
                struct trail here = { at, member->key, 0 };
                size_t i;

                for (i = 0; i < set->count; i++)
                        if (strcmp(member->key, set->rows[i].name) == 0 ||
                            (set->rows[i].camel && strcmp(member->key, set->rows[i].camel) == 0))
                                break;
                if (i < set->count)
                        row_take(j, set, i, member, at, values);
                else if (!set->is_open)
                        unknown(j, set, member, &here);
        }
}

/* -- values ------------------------------------------------------------------------------------ */

/* What the field accepts: "`pids`: an integer, 1 to 9 (default 5). Most tasks at once." */
static const char *
hint_of(struct judge *j, const struct field *row)
{
        const char *bounds = "",
                   *name = row->name ? arena_format(j->arena, "`%s` takes", row->name) : "It takes";

        if (row->kind == FIELD_UINT)
                bounds = arena_format(j->arena, " from %llu to %llu%s",
                                      (unsigned long long)row->min, (unsigned long long)row->max,
                                      row->fallback != UINT64_MAX
                                              ? arena_format(j->arena, " (default %llu)",
                                                             (unsigned long long)row->fallback)
                                              : "");
        if (!name || !bounds || !row->help)
                return NULL;
        return arena_format(j->arena, "%s %s%s%s %s", name, field_kind_words(row->kind), bounds,
                            row->name ? "." : ":", row->help);
}

static const char *
example_of(struct judge *j, const struct field *row)
{
        return j->advice ? j->advice->example(j, row->name) : NULL;
}

/*
 * Some codes have fewer reasons than others (reference, section 4). A provider setting that is out
 * of bounds is reported as a wrong type. A fault of a mount without its own reason is a schema
 * fault. `hint` may be NULL.
 */
static void
bad(struct judge *j, const struct field_set *set, const struct field *row, const struct node *value,
    const struct trail *at, const char *reason, const char *hint, const char *sentence)
{
        enum error_code code = set->code;
        bool is_type = strcmp(reason, "type") == 0, is_bound = strcmp(reason, "range") == 0;

        if (code == ERROR_CONFIG_INVALID && (is_bound || strcmp(reason, "pattern") == 0))
                reason = "type";
        if (code == ERROR_MOUNT_INVALID && !is_type)
                code = ERROR_SCHEMA_INVALID;
        judge_error(j, value, at, code, reason, hint ? hint : hint_of(j, row), "%s", sentence);
}

static bool
bad_type(struct judge *j, const struct field_set *set, const struct field *row,
         const struct node *value, const struct trail *at)
{
        char sentence[160], got[80];
        bool is_pattern = (row->flags & FIELD_LOOSE_TYPE) &&
                          (value->kind == NODE_INT || value->kind == NODE_FLOAT);
        bool is_shown = value->text && value->kind != NODE_NULL &&
                        (row->kind == FIELD_UINT || row->kind == FIELD_BOOL);
        const char *hint = is_pattern  ? example_of(j, row)
                           : j->advice ? j->advice->type(j, set, row, value)
                                       : NULL;

        if (value->kind == NODE_NULL)
                (void)snprintf(got, sizeof got, "nothing (null)");
        else if (is_shown)
                (void)snprintf(got, sizeof got, "the %s %s%s%s", node_kind_name(value->kind),
                               value->kind == NODE_STRING ? "\"" : "", judge_quote(j, value->text),
                               value->kind == NODE_STRING ? "\"" : "");
        else
                (void)snprintf(got, sizeof got, "%s %s", value->kind == NODE_INT ? "an" : "a",
                               node_kind_name(value->kind));
        (void)snprintf(sentence, sizeof sentence, "expected %s, got %s%s",
                       field_kind_words(row->kind), got, is_pattern ? "; put it in quotes" : "");
        bad(j, set, row, value, at, is_pattern ? "pattern" : "type",
            is_pattern && hint ? arena_format(j->arena, "For example %s.", hint) : hint, sentence);
        return false;
}

static bool
text_read(struct judge *j, const struct field_set *set, const struct field *row,
          const struct node *value, const struct trail *at)
{
        char sentence[320];

        if (value->len < row->min || (row->max && value->len > row->max)) {
                if (value->len == 0)
                        bad(j, set, row, value, at, "range", NULL, "this must not be empty");
                else {
                        (void)snprintf(sentence, sizeof sentence,
                                       "this has %zu bytes; %llu to %llu are possible", value->len,
                                       (unsigned long long)row->min, (unsigned long long)row->max);
                        bad(j, set, row, value, at, "range", NULL, sentence);
                }
                return false;
        }
        if (row->matches && !row->matches(value->text)) {
                const char *example = example_of(j, row),
                           *hint = example ? arena_format(j->arena, "For example %s. %s", example,
                                                          row->help)
                                           : NULL;

                (void)snprintf(sentence, sizeof sentence, "invalid %s `%s`",
                               row->name ? row->name : "name", judge_quote(j, value->text));
                bad(j, set, row, value, at, "pattern", hint, sentence);
                return false;
        }
        if ((row->flags & FIELD_SECRET) && !field_slug_check(value->text))
                judge_warn(j, value, at, "secret_slug_nonconforming",
                           "AIP-19 slugs are lower-case words, at most one \"/\": this one may not "
                           "be found");
        return true;
}

/* An integer too long for 64 bits reads as a float; it is out of range, not of another type. */
static bool
is_whole(const struct node *value)
{
        const char *digits = value->text;

        if (value->kind == NODE_INT)
                return true;
        if (value->kind != NODE_FLOAT || !digits)
                return false;
        digits += *digits == '-' || *digits == '+';
        return *digits && strspn(digits, "0123456789") == strlen(digits);
}

static bool
uint_read(struct judge *j, const struct field_set *set, const struct field *row,
          const struct node *value, const struct trail *at)
{
        char sentence[160];

        if (!is_whole(value))
                return bad_type(j, set, row, value, at);
        if (value->kind == NODE_INT && value->integer >= 0 &&
            (uint64_t)value->integer >= row->min && (uint64_t)value->integer <= row->max)
                return true;
        (void)snprintf(sentence, sizeof sentence, "this must be from %llu to %llu",
                       (unsigned long long)row->min, (unsigned long long)row->max);
        bad(j, set, row, value, at, "range", NULL, sentence);
        return false;
}

static bool
choice_read(struct judge *j, const struct field_set *set, const struct field *row,
            const struct node *value, const struct trail *at)
{
        char sentence[320];
        int used = snprintf(sentence, sizeof sentence,
                            "`%s` is not one of:", judge_quote(j, value->text));

        for (const char *const *choice = row->choices; *choice; choice++) {
                if (strcmp(value->text, *choice) == 0)
                        return true;
                if (used > 0 && (size_t)used < sizeof sentence)
                        used += snprintf(sentence + used, sizeof sentence - (size_t)used, "%s %s",
                                         choice == row->choices ? "" : ",", *choice);
        }
        bad(j, set, row, value, at, "enum",
            j->advice ? j->advice->choice(j, row, value->text) : NULL, sentence);
        return false;
}

static bool
list_read(struct judge *j, const struct field_set *set, const struct field *row,
          const struct node *value, const struct trail *at)
{
        char sentence[160];

        if (value->len >= row->min && (!row->max || value->len <= row->max))
                return true;
        if (value->len < row->min)
                (void)snprintf(sentence, sizeof sentence, "this list must not be empty");
        else
                (void)snprintf(sentence, sizeof sentence,
                               "this list has %zu entries; %llu are possible", value->len,
                               (unsigned long long)row->max);
        bad(j, set, row, value, at, "range", NULL, sentence);
        return false;
}

static bool
has_type(const struct field *row, const struct node *value)
{
        static const enum node_kind kinds[] = {
                [FIELD_TEXT] = NODE_STRING,   [FIELD_UINT] = NODE_INT, [FIELD_BOOL] = NODE_BOOL,
                [FIELD_CHOICE] = NODE_STRING, [FIELD_MAP] = NODE_MAP,  [FIELD_LIST] = NODE_LIST,
        };

        return row->kind == FIELD_ONE_OF || row->kind == FIELD_UINT ||
               value->kind == kinds[row->kind];
}

static bool
check(struct judge *j, const struct field_set *set, const struct field *row,
      const struct node *value, const struct trail *at)
{
        if (!has_type(row, value))
                return bad_type(j, set, row, value, at);
        switch (row->kind) {
        case FIELD_TEXT:
                return text_read(j, set, row, value, at);
        case FIELD_UINT:
                return uint_read(j, set, row, value, at);
        case FIELD_CHOICE:
                return choice_read(j, set, row, value, at);
        case FIELD_LIST:
                return list_read(j, set, row, value, at);
        default:
                return true;
        }
}

static void
store(const struct field *row, const struct node *value, void *base)
{
        void *into;

        if (row->offset == FIELD_NOWHERE)
                return;
        into = (char *)base + row->offset;
        if (row->kind == FIELD_TEXT || row->kind == FIELD_CHOICE)
                *(const char **)into = value->text;
        else if (row->kind == FIELD_UINT)
                *(uint64_t *)into = (uint64_t)value->integer;
        else if (row->kind == FIELD_BOOL)
                *(bool *)into = value->boolean;
        else
                *(const struct node **)into = value;
}

static bool
value_read(struct judge *j, const struct field_set *set, const struct field *row,
           const struct node *value, const struct trail *at, void *base)
{
        size_t before = j->findings->error_count;

        if (!check(j, set, row, value, at))
                return false;
        if (row->read)
                row->read(j, value, at, base);
        else if (row->kind == FIELD_MAP && row->members)
                (void)fields_read(j, row->members, value, at,
                                  row->offset == FIELD_NOWHERE ? base : (char *)base + row->offset);
        else
                store(row, value, base);
        return judge_is_clean(j, before);
}

bool
field_read(struct judge *j, const struct field_set *set, const struct field *row,
           const struct node *map, const struct node *value, const struct trail *at, void *base)
{
        struct trail here = { at, row->name, 0 };

        if (!value) {
                if (row->flags & FIELD_REQUIRED) {
                        const char *example = example_of(j, row);

                        judge_error(j, map, &here, set->code, "missing",
                                    example ? arena_format(j->arena, "Add a line: %s. %s", example,
                                                           row->help)
                                            : row->help,
                                    "the field `%s` is missing", row->name);
                }
                return false;
        }
        if (row->kind == FIELD_UNSUPPORTED) {
                judge_error_key(j, value, &here, set->code, "unknown_field", row->help,
                                "`%s` is not supported here", row->name);
                return false;
        }
        return value_read(j, set, row, value, &here, base);
}

bool
field_item_read(struct judge *j, const struct field_set *set, const struct node *item,
                const struct trail *at, void *base)
{
        return value_read(j, set, &set->rows[0], item, at, base);
}

bool
fields_read(struct judge *j, const struct field_set *set, const struct node *map,
            const struct trail *at, void *base)
{
        static const struct field a_map = { .kind = FIELD_MAP };
        const struct node *values[FIELD_SET_MAX];
        size_t before = j->findings->error_count;

        if (map->kind != NODE_MAP)
                return bad_type(j, set, &a_map, map, at);
        fields_fold(j, set, map, at, values);
        for (size_t i = 0; i < set->count; i++)
                (void)field_read(j, set, &set->rows[i], map, values[i], at, base);
        return judge_is_clean(j, before);
}

void
fields_default(const struct field_set *set, void *base)
{
        for (size_t i = 0; i < set->count; i++)
                if (set->rows[i].kind == FIELD_UINT && set->rows[i].offset != FIELD_NOWHERE)
                        *(uint64_t *)((char *)base + set->rows[i].offset) = set->rows[i].fallback;
}
