/*
 * judge/validator.c - checks on the arguments of a tool.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: a check that cannot be made fails: text that is not UTF-8, a word that is only known when
 * the command runs, an argument of another type than the check is for.
 */
#include "judge/validator.h"

#include <string.h>

#include "judge/json_schema.h"
#include "judge/json_schema_check.h"
#include "judge/pattern.h"
#include "judge/tool.h"
#include "text/utf8.h"

/* -- reading ----------------------------------------------------------------------------------- */

struct reading {
        struct arena *arena;
        struct validator *v;
        struct error *e;
};

static int
wrong(struct error *e, const struct node *n, const char *reason, const char *message)
{
        (void)fail_at(e, ERROR_SCHEMA_INVALID, "validators", reason, "validators: %s", message);
        e->line = n->line;
        e->column = n->column;
        error_hint(e, "For example: validators: {shell: {cmd: {max_length: 255}}}. docs/POLICY.md "
                      "lists the checks.");
        return -1;
}

static int
read_number(const struct node *n, uint64_t most, uint64_t *ret, struct error *e)
{
        if (n->kind != NODE_INT || n->integer < 0 || (uint64_t)n->integer > most)
                return wrong(e, n, "type", "a bound is an integer, 0 or more, and not too large");
        *ret = (uint64_t)n->integer;
        return 0;
}

static int
read_names(struct reading *r, const struct node *n, struct spec_names *ret)
{
        static const char rule[] = "expected a list of 1 to 64 texts";
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len == 0 || n->len > VALIDATOR_NAMES_MAX)
                return wrong(r->e, n, "type", rule);
        items = arena_array(r->arena, const char *, n->len);
        if (!items)
                return fail(r->e, ERROR_NO_MEMORY, "no memory for the policy");
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0)
                        return wrong(r->e, item, "type", rule);
                items[count++] = item->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_pattern(struct reading *r, const struct node *n)
{
        enum pattern_answer answer = n->kind == NODE_STRING ? pattern_check(n->text) : PATTERN_NO;

        if (answer == PATTERN_NO_MEMORY)
                return fail(r->e, ERROR_NO_MEMORY, "no memory for a pattern of the policy");
        if (answer == PATTERN_NO)
                return wrong(r->e, n, "pattern", PATTERN_RULE);
        r->v->pattern = n->text;
        return 0;
}

static int
read_text_check(struct reading *r, const struct node *n)
{
        const struct {
                const char *name;
                uint64_t *value;
        } bounds[] = {
                { "min_length", &r->v->min_length },
                { "max_length", &r->v->max_length },
                { "min_bytes", &r->v->min_bytes },
                { "max_bytes", &r->v->max_bytes },
        };

        if (strcmp(n->key, "pattern") == 0)
                return read_pattern(r, n);
        for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
                if (strcmp(bounds[i].name, n->key) == 0)
                        return read_number(n, UINT64_MAX, bounds[i].value, r->e);
        return wrong(r->e, n, "unknown_field",
                     "a check is min_length, max_length, min_bytes, max_bytes or pattern");
}

static int
read_cmd(struct reading *r, const struct node *n)
{
        if (strcmp(r->v->tool, TOOL_SHELL) != 0 || n->kind != NODE_MAP)
                return wrong(r->e, n, "unknown_field",
                             "cmd is a map of checks, and of the tool shell alone");
        node_each(check, n)
        {
                if (read_text_check(r, check) < 0)
                        return -1;
        }
        return 0;
}

static int
read_arguments(struct reading *r, const struct node *n)
{
        r->v->schema = n;
        return json_schema_check(n, r->e);
}

/* The short form is a list; the long one a map with `fields` and the list as `list`. */
static int
read_fields(struct reading *r, const struct node *n, const char *list, struct spec_names *fields,
            struct spec_names *items)
{
        if (n->kind != NODE_MAP)
                return read_names(r, n, items);
        node_each(member, n)
        {
                bool is_fields = strcmp(member->key, "fields") == 0;

                if (!is_fields && strcmp(member->key, list) != 0)
                        return wrong(r->e, member, "unknown_field",
                                     "paths has fields and beneath; hosts has fields and allow");
                if (read_names(r, member, is_fields ? fields : items) < 0)
                        return -1;
        }
        return items->count > 0
                       ? 0
                       : wrong(r->e, n, "required", "the list beneath or allow is missing");
}

static int
read_paths(struct reading *r, const struct node *n)
{
        bool is_shell = strcmp(r->v->tool, TOOL_SHELL) == 0;

        r->v->has_paths = true;
        if (read_fields(r, n, "beneath", &r->v->path_fields, &r->v->beneath) < 0)
                return -1;
        if (is_shell != (r->v->path_fields.count == 0))
                return wrong(r->e, n, "fields",
                             is_shell ? "paths of shell are the words of the command: leave out "
                                        "fields"
                                      : "name the arguments that are paths: {fields: [path], "
                                        "beneath: [/workspace]}");
        for (size_t i = 0; i < r->v->beneath.count; i++)
                if (!reach_path_is_normal(r->v->beneath.items[i]))
                        return wrong(r->e, n, "path",
                                     "a directory is an absolute path without //, . and ..");
        return 0;
}

static int
read_hosts(struct reading *r, const struct node *n)
{
        struct spec_names names = { NULL, 0 };
        struct spec_egress *entries;
        struct error why;

        r->v->has_hosts = true;
        if (read_fields(r, n, "allow", &r->v->host_fields, &names) < 0)
                return -1;
        if (strcmp(r->v->tool, TOOL_SHELL) == 0 && r->v->host_fields.count > 0)
                return wrong(r->e, n, "fields",
                             "hosts of shell are in the words of the command: leave out fields");
        entries = arena_array(r->arena, struct spec_egress, names.count);
        if (!entries)
                return fail(r->e, ERROR_NO_MEMORY, "no memory for the policy");
        for (size_t i = 0; i < names.count; i++)
                if (egress_read(r->arena, names.items[i], &entries[i], &why) < 0)
                        return wrong(r->e, n, "host",
                                     "a host is written as in network.egress: api.example.com, "
                                     "*.example.com, host:port");
        r->v->hosts = (struct reach_hosts){ entries, names.count };
        return 0;
}

static int
read_program_field(struct arena *arena, const struct node *n, struct validator_program *p,
                   struct error *e)
{
        struct reading r = { arena, NULL, e };

        if (strcmp(n->key, "command") == 0)
                return read_names(&r, n, &p->command);
        if (strcmp(n->key, "timeout_ms") == 0)
                return read_number(n, VALIDATOR_PROGRAM_MS_MAX, &p->timeout_ms, e);
        if (strcmp(n->key, "memory_mb") == 0)
                return read_number(n, VALIDATOR_PROGRAM_MB_MAX, &p->memory_mb, e);
        return wrong(e, n, "unknown_field", "program has command, timeout_ms and memory_mb");
}

int
validator_program_read(struct arena *arena, const struct node *n, struct validator_program *ret,
                       struct error *e)
{
        static const char rule[] = "program is {command: [/absolute/path, ARGUMENTS]}";

        *ret = (struct validator_program){ .timeout_ms = VALIDATOR_PROGRAM_MS,
                                           .memory_mb = VALIDATOR_PROGRAM_MB };
        if (n->kind != NODE_MAP)
                return wrong(e, n, "type", rule);
        node_each(member, n)
        {
                if (read_program_field(arena, member, ret, e) < 0)
                        return -1;
        }
        return ret->command.count > 0 && reach_path_is_normal(ret->command.items[0]) &&
                               ret->timeout_ms > 0 && ret->memory_mb > 0
                       ? 0
                       : wrong(e, n, "program", rule);
}

static int
read_program(struct reading *r, const struct node *n)
{
        return validator_program_read(r->arena, n, &r->v->program, r->e);
}

static const struct {
        const char *name;
        int (*read)(struct reading *r, const struct node *n);
} checks[] = {
        { "cmd", read_cmd },     { "arguments", read_arguments }, { "paths", read_paths },
        { "hosts", read_hosts }, { "program", read_program },
};

static int
read_check(struct reading *r, const struct node *n)
{
        for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
                if (strcmp(checks[i].name, n->key) == 0)
                        return checks[i].read(r, n);
        return wrong(r->e, n, "unknown_field",
                     "a tool has the checks cmd, arguments, paths, hosts and program");
}

int
validator_read(struct arena *arena, const struct node *map, struct validators *ret, struct error *e)
{
        *ret = (struct validators){ NULL, 0 };
        if (map->kind != NODE_MAP || map->len > VALIDATOR_TOOLS_MAX)
                return wrong(e, map, "type", "expected a map of at most 64 tools");
        ret->items = arena_array(arena, struct validator, map->len + 1);
        if (!ret->items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the policy");
        node_each(tool, map)
        {
                struct validator *v = &ret->items[ret->count];
                struct reading r = { arena, v, e };

                *v = (struct validator){ .tool = tool_name(tool->key),
                                         .max_length = UINT64_MAX,
                                         .max_bytes = UINT64_MAX };
                if (tool->kind != NODE_MAP)
                        return wrong(e, tool, "type", "a tool is a map of checks");
                if (validator_find(ret, v->tool))
                        return wrong(e, tool, "twice", "two names of the same tool");
                node_each(check, tool)
                {
                        if (read_check(&r, check) < 0)
                                return -1;
                }
                ret->count++;
        }
        return 0;
}

const struct validator *
validator_find(const struct validators *all, const char *tool)
{
        for (size_t i = 0; i < all->count; i++)
                if (strcmp(all->items[i].tool, tool) == 0)
                        return &all->items[i];
        return NULL;
}

/* -- the text of a command --------------------------------------------------------------------- */

static const char *
find_text_fault(const struct validator *v, const char *text)
{
        size_t len = strlen(text), characters = 0;
        bool is_text = utf8_valid_len(text, len) == len;

        for (size_t i = 0; i < len; i++)
                characters += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (characters < v->min_length || (v->min_length > 0 && !is_text))
                return "shell.cmd.min_length";
        if (characters > v->max_length || (v->max_length != UINT64_MAX && !is_text))
                return "shell.cmd.max_length";
        if (len < v->min_bytes)
                return "shell.cmd.min_bytes";
        if (len > v->max_bytes)
                return "shell.cmd.max_bytes";
        return v->pattern && (!is_text || pattern_match(v->pattern, text) != PATTERN_YES)
                       ? "shell.cmd.pattern"
                       : NULL;
}

/* -- paths and hosts --------------------------------------------------------------------------- */

struct checking {
        const struct validator *v;
        struct reach_paths paths;
        const char *program; /* of the command whose word is judged; or NULL */
        const char *word;    /* the first that fails */
};

/* NULL: a word that is not known. */
typedef bool word_check(struct checking *c, const char *word);

static bool
word_stays(struct checking *c, const char *word)
{
        return word && reach_word_stays(&c->paths, word);
}

static bool
word_hosts(struct checking *c, const char *word)
{
        return word && reach_word_hosts(&c->v->hosts, c->program, word);
}

static bool
field_path(struct checking *c, const char *word)
{
        return word && reach_path_is_listed(&c->paths, word);
}

static bool
field_host(struct checking *c, const char *word)
{
        return word && reach_host_is_listed(&c->v->hosts, word);
}

static bool
passes(struct checking *c, const char *word, word_check *check)
{
        if (check(c, word))
                return true;
        c->word = word;
        return false;
}

static bool
action_passes(struct checking *c, const struct shell_action *a, word_check *check)
{
        c->program = a->program;
        for (size_t i = 1; i < a->word_count; i++)
                if (!passes(c, a->words[i], check))
                        return false;
        return !a->has_more || passes(c, NULL, check);
}

/* Words of programs; files and directories that the shell itself opens. */
static bool
reading_passes(struct checking *c, const struct shell_reading *reading, word_check *check)
{
        for (size_t i = 0; i < reading->count; i++)
                if (!action_passes(c, &reading->actions[i], check))
                        return false;
        c->program = NULL;
        for (size_t i = 0; i < reading->file_count; i++)
                if (!passes(c, reading->files[i], check))
                        return false;
        return true;
}

/* Every text in a value. */
static bool
texts_pass(struct checking *c, const struct node *n, word_check *check)
{
        if (n->kind == NODE_STRING)
                return passes(c, n->text, check);
        if (n->kind != NODE_LIST && n->kind != NODE_MAP)
                return true;
        node_each(child, n)
        {
                if (!texts_pass(c, child, check))
                        return false;
        }
        return true;
}

/* A text, or a list of texts. */
static bool
value_passes(struct checking *c, const struct node *n, word_check *check)
{
        if (n->kind == NODE_STRING)
                return passes(c, n->text, check);
        if (n->kind != NODE_LIST)
                return passes(c, NULL, check);
        node_each(item, n)
        {
                if (!passes(c, item->kind == NODE_STRING ? item->text : NULL, check))
                        return false;
        }
        return true;
}

/* An argument that is not there names nothing; JSON Schema can require it. */
static bool
fields_pass(struct checking *c, const struct node *arguments, const struct spec_names *fields,
            word_check *check)
{
        for (size_t i = 0; i < fields->count; i++) {
                const struct node *n = node_find(arguments, fields->items[i]);

                if (n && !value_passes(c, n, check))
                        return false;
        }
        return true;
}

static bool
paths_pass(struct checking *c, const struct validator_call *call)
{
        if (!call->reading)
                return fields_pass(c, call->arguments, &c->v->path_fields, field_path);
        return passes(c, c->paths.cwd, field_path) && reading_passes(c, call->reading, word_stays);
}

static bool
hosts_pass(struct checking *c, const struct validator_call *call)
{
        if (call->reading)
                return reading_passes(c, call->reading, word_hosts);
        return fields_pass(c, call->arguments, &c->v->host_fields, field_host) &&
               texts_pass(c, call->arguments, word_hosts);
}

const char *
validator_find_fault(struct arena *arena, const struct validator *v,
                     const struct validator_call *call, const char **ret_word)
{
        struct checking c = { .v = v,
                              .paths = { .beneath = &v->beneath,
                                         .cwd = call->cwd ? call->cwd : VALIDATOR_CWD,
                                         .has_moved = call->reading && call->reading->has_moved } };
        const char *fault = call->text ? find_text_fault(v, call->text) : NULL;
        char place[JSON_SCHEMA_PLACE_ROOM];

        *ret_word = NULL;
        if (fault)
                return fault;
        if (v->schema && !json_schema_allows(v->schema, call->arguments, place))
                fault = arena_format(arena, "%.40s.arguments: %s", v->tool, place);
        else if (v->has_paths && !paths_pass(&c, call))
                fault = arena_format(arena, "%.40s.paths", v->tool);
        else if (v->has_hosts && !hosts_pass(&c, call))
                fault = arena_format(arena, "%.40s.hosts", v->tool);
        else
                return NULL;
        *ret_word = c.word;
        return fault ? fault : "validators";
}
