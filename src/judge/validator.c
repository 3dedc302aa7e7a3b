/*
 * judge/validator.c - checks on the text of a command.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: a check that cannot be made fails. Back references are refused: without them the matcher
 * takes time in proportion to text and pattern.
 */
#include "judge/validator.h"

#include <regex.h>
#include <string.h>

#include "text/utf8.h"

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

/* -- reading ----------------------------------------------------------------------------------- */

static bool
has_back_reference(const char *pattern)
{
        for (const char *at = strchr(pattern, '\\'); at; at = strchr(at + 2, '\\')) {
                if (at[1] == '\0' || (at[1] >= '0' && at[1] <= '9'))
                        return true;
        }
        return false;
}

static int
read_pattern(const struct node *n, struct validator *ret, struct error *e)
{
        regex_t compiled;

        if (n->kind != NODE_STRING || n->len == 0 || n->len > VALIDATOR_PATTERN_MAX)
                return wrong(e, n, "pattern", "a pattern is a text of at most 256 bytes");
        if (has_back_reference(n->text) ||
            regcomp(&compiled, n->text, REG_EXTENDED | REG_NOSUB) != 0)
                return wrong(e, n, "pattern",
                             "this is no extended regular expression of POSIX without back "
                             "references");
        regfree(&compiled);
        ret->pattern = n->text;
        return 0;
}

static int
read_check(const struct node *n, struct validator *ret, struct error *e)
{
        const struct {
                const char *name;
                uint64_t *value;
        } bounds[] = {
                { "min_length", &ret->min_length },
                { "max_length", &ret->max_length },
                { "min_bytes", &ret->min_bytes },
                { "max_bytes", &ret->max_bytes },
        };

        if (strcmp(n->key, "pattern") == 0)
                return read_pattern(n, ret, e);
        for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
                if (strcmp(bounds[i].name, n->key) != 0)
                        continue;
                if (n->kind != NODE_INT || n->integer < 0)
                        return wrong(e, n, "type", "a bound is a number, 0 or more");
                *bounds[i].value = (uint64_t)n->integer;
                return 0;
        }
        return wrong(e, n, "unknown_field",
                     "a check is min_length, max_length, min_bytes, max_bytes or pattern");
}

int
validator_read(const struct node *map, struct validator *ret, struct error *e)
{
        const struct node *checks;

        *ret = (struct validator){ .max_length = UINT64_MAX, .max_bytes = UINT64_MAX };
        if (map->kind != NODE_MAP)
                return wrong(e, map, "type", "expected a map of tools");
        node_each(tool, map)
        {
                if (strcmp(tool->key, "shell") != 0 || tool->kind != NODE_MAP)
                        return wrong(e, tool, "unknown_field",
                                     "the one tool with checks is shell, a map of its arguments");
                checks = tool->first;
                if (tool->len != 1 || strcmp(checks->key, "cmd") != 0 || checks->kind != NODE_MAP)
                        return wrong(e, tool, "unknown_field",
                                     "shell has one argument, cmd, a map of checks");
                node_each(check, checks) if (read_check(check, ret, e) < 0) return -1;
        }
        return 0;
}

/* -- checking ---------------------------------------------------------------------------------- */

static bool
matches(const char *pattern, const char *text)
{
        regex_t compiled;
        bool result;

        if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return false;
        result = regexec(&compiled, text, 0, NULL, 0) == 0;
        regfree(&compiled);
        return result;
}

const char *
validator_find_fault(const struct validator *v, const char *text)
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
        return v->pattern && (!is_text || !matches(v->pattern, text)) ? "shell.cmd.pattern" : NULL;
}
