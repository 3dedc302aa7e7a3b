/*
 * shell/word.c - the value of a word: quotes, escapes, and what only the shell can expand.
 *
 * Room: shell (deciding). Touches: mem.
 * Theory: the grammar says where words and their parts are, and this file reads their bytes itself.
 * A part of a kind that is not in the table, and a byte that has a meaning for the shell in a place
 * where the grammar saw none, are doubts.
 */
#include <string.h>

#include "shell/parse.h"

/* A word that grows. `is_unknown`: it expands. */
struct value {
        char *bytes; /* room for all of the text */
        size_t len;
        bool is_unknown;
};

static void read_part(struct parse *p, TSNode node, struct value *v);

static void
put(struct value *v, char c)
{
        v->bytes[v->len++] = c;
}

/* Would a shell expand the `$` before these bytes? */
static bool
is_expanded(const char *after, size_t len)
{
        return len > 0 && strchr("{(@*#?-$!'\"_", after[0]) != NULL && after[0] != '\0';
}

static bool
is_name_byte(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
}

static bool
has_expansion(const char *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (bytes[i] == '\\') {
                        i++;
                        continue;
                }
                if (bytes[i] == '`' ||
                    (bytes[i] == '$' && i + 1 < len &&
                     (is_expanded(bytes + i + 1, len - i - 1) || is_name_byte(bytes[i + 1]))))
                        return true;
        }
        return false;
}

/*
 * Is the next byte of the text a closing brace, and the last one of the word? Then both stay as
 * they are, in every shell. bash reads a{},b} as a} and ab.
 */
static bool
is_closed(const struct parse *p, const char *brace)
{
        const char *end = p->text + p->len, *at = brace + 2;

        if (brace + 1 >= end || brace[1] != '}')
                return false;
        while (at < end && !strchr(" \t\n;&|<>()", *at))
                if (*at++ == '}')
                        return false;
        return true;
}

/* Without quotes. */
static void
read_plain(struct parse *p, TSNode node, struct value *v)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        if (len > 0 && bytes[0] == '~')
                v->is_unknown = true;
        for (size_t i = 0; i < len; i++) {
                if (bytes[i] == '\\') {
                        if (++i == len)
                                parse_doubt(p, SHELL_SYNTAX, node);
                        else if (bytes[i] != '\n')
                                put(v, bytes[i]);
                        continue;
                }
                if (strchr("*?[", bytes[i]) || (bytes[i] == '{' && !is_closed(p, bytes + i)))
                        v->is_unknown = true;
                if (strchr("$`'\";&|<>() \t\n", bytes[i])) {
                        parse_doubt(p, SHELL_SYNTAX, node);
                        v->is_unknown = true;
                }
                put(v, bytes[i]);
        }
}

/* Between single quotes. */
static void
read_raw(struct parse *p, TSNode node, struct value *v)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        if (len < 2 || bytes[0] != '\'' || bytes[len - 1] != '\'' ||
            memchr(bytes + 1, '\'', len - 2)) {
                parse_doubt(p, SHELL_SYNTAX, node);
                v->is_unknown = true;
                return;
        }
        for (size_t i = 1; i + 1 < len; i++)
                put(v, bytes[i]);
}

/* The parts of a node that can contain commands. */
static void
read_parts_inside(struct parse *p, TSNode node)
{
        struct value ignored = { arena_alloc(p->reader->memory, p->len + 1), 0, false };
        uint32_t count = ts_node_named_child_count(node);

        for (uint32_t i = 0; ignored.bytes && i < count; i++) {
                TSNode child = ts_node_named_child(node, i);

                ignored.len = 0;
                if (!parse_is(child, "string_content") && !parse_is(child, "variable_name") &&
                    !parse_is(child, "special_variable_name") && !parse_is(child, "regex"))
                        read_part(p, child, &ignored);
        }
}

/* Between double quotes. */
static void
read_string(struct parse *p, TSNode node, struct value *v)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        if (len < 2 || bytes[0] != '"' || bytes[len - 1] != '"') {
                parse_doubt(p, SHELL_SHELLS, node);
                v->is_unknown = true;
                return;
        }
        if (ts_node_named_child_count(node) > 0)
                read_parts_inside(p, node);
        if (has_expansion(bytes + 1, len - 2)) {
                v->is_unknown = true;
                return;
        }
        for (size_t i = 1; i + 1 < len; i++) {
                if (bytes[i] == '\\' && i + 2 < len && strchr("$`\"\\\n", bytes[i + 1])) {
                        if (bytes[++i] != '\n')
                                put(v, bytes[i]);
                        continue;
                }
                if (bytes[i] == '"') {
                        parse_doubt(p, SHELL_SYNTAX, node);
                        v->is_unknown = true;
                }
                put(v, bytes[i]);
        }
}

/* The parts touch each other: a blank between them would make two words. */
static void
read_joined(struct parse *p, TSNode node, struct value *v)
{
        uint32_t count = ts_node_child_count(node), at = ts_node_start_byte(node);
        size_t len;

        if (memcmp(parse_slice(p, node, &len), "{}", 2) == 0 && len == 2) {
                put(v, '{');
                put(v, '}');
                return;
        }
        for (uint32_t i = 0; i < count; i++) {
                TSNode child = ts_node_child(node, i);

                if (ts_node_start_byte(child) != at) {
                        parse_doubt(p, SHELL_SHELLS, node);
                        v->is_unknown = true;
                }
                at = ts_node_end_byte(child);
                if (ts_node_is_named(child))
                        read_part(p, child, v);
                else if (parse_slice(p, child, &len)[0] == '{' &&
                         is_closed(p, p->text + ts_node_start_byte(child)))
                        put(v, '{');
                else if (parse_slice(p, child, &len)[0] == '}' && at > 1 && p->text[at - 2] == '{')
                        put(v, '}');
                else
                        v->is_unknown = true; /* a brace, or a lone dollar sign */
        }
}

static void
read_expanded(struct parse *p, TSNode node, struct value *v)
{
        (void)p;
        (void)node;
        v->is_unknown = true;
}

/* ${name}, ${#name}, and a default or a cut that is a word. */
static void
read_expansion(struct parse *p, TSNode node, struct value *v)
{
        size_t len, at = 2;
        const char *bytes = parse_slice(p, node, &len);
        bool is_known;

        v->is_unknown = true;
        at += len > 3 && bytes[2] == '#';
        while (at < len && is_name_byte(bytes[at]))
                at++;
        is_known = at < len && bytes[at] == '}' && at == len - 1;
        if (at + 1 < len && bytes[at] == ':' && strchr("-+?", bytes[at + 1]))
                is_known = true;
        if (at < len && strchr("-+?#%", bytes[at]) && bytes[2] != '#')
                is_known = true;
        if (!is_known)
                parse_doubt(p, SHELL_EVALUATES, node);
        read_parts_inside(p, node);
}

/* A name in it is evaluated, and its value may be an expression with commands. */
static void
read_arithmetic(struct parse *p, TSNode node, struct value *v)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        v->is_unknown = true;
        for (size_t i = 1; i < len; i++) {
                if (strchr("0123456789+-*/%() \t", bytes[i]))
                        continue;
                parse_doubt(p, SHELL_EVALUATES, node);
                parse_visit_inside(p, node);
                return;
        }
}

static void
read_substitution(struct parse *p, TSNode node, struct value *v)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        v->is_unknown = true;
        /* in backticks, a backslash is read twice */
        if (len > 0 && bytes[0] == '`' && memchr(bytes, '\\', len))
                parse_doubt(p, SHELL_SHELLS, node);
        if (len > 2 && bytes[0] == '$' && bytes[2] == '<')
                parse_doubt(p, SHELL_SHELLS, node);
        for (uint32_t i = 0; i < ts_node_named_child_count(node); i++)
                parse_visit(p, ts_node_named_child(node, i));
}

static const struct {
        const char *type;
        void (*read)(struct parse *p, TSNode node, struct value *v);
} parts[] = {
        { "word", read_plain },
        { "number", read_plain },
        { "raw_string", read_raw },
        { "string", read_string },
        { "concatenation", read_joined },
        { "simple_expansion", read_expanded },
        { "expansion", read_expansion },
        { "arithmetic_expansion", read_arithmetic },
        { "command_substitution", read_substitution },
};

static void
read_part(struct parse *p, TSNode node, struct value *v)
{
        if (++p->reader->depth > SHELL_DEPTH_MAX) {
                parse_doubt(p, SHELL_LIMIT, node);
                v->is_unknown = true;
                p->reader->depth--;
                return;
        }
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                if (!parse_is(node, parts[i].type))
                        continue;
                parts[i].read(p, node, v);
                p->reader->depth--;
                return;
        }
        parse_doubt(p, SHELL_SHELLS, node);
        v->is_unknown = true;
        parse_visit_inside(p, node);
        p->reader->depth--;
}

const char *
parse_word(struct parse *p, TSNode node)
{
        size_t len = ts_node_end_byte(node) - ts_node_start_byte(node);
        struct value v = { arena_alloc(p->reader->memory, len + 1), 0, false };

        if (!v.bytes)
                return NULL;
        read_part(p, node, &v);
        return v.is_unknown ? NULL : v.bytes;
}

/* -- what the grammar left out ----------------------------------------------------------------- */

/* A line that is continued: does a blank stand on one side of it? Otherwise a word goes on. */
static bool
is_apart(const struct parse *p, size_t at)
{
        return at == 0 || strchr(" \t\n;&|()", p->text[at - 1]) || at + 2 >= p->len ||
               strchr(" \t", p->text[at + 2]);
}

static void
check_gap(struct parse *p, size_t from, size_t to)
{
        for (size_t i = from; i < to; i++) {
                if (p->text[i] == '\\' && i + 1 < to && p->text[i + 1] == '\n' && is_apart(p, i))
                        i++;
                else if (p->text[i] != ' ' && p->text[i] != '\t' && p->text[i] != '\n')
                        reader_doubt(p->reader, SHELL_SHELLS, p->text + i, to - i), i = to;
        }
}

static void
check_leaf(struct parse *p, TSNode leaf)
{
        size_t len, from = ts_node_start_byte(leaf);
        const char *bytes = parse_slice(p, leaf, &len);

        if (parse_is(leaf, "raw_string") || parse_is(leaf, "ansi_c_string"))
                return;
        if (parse_is(leaf, "comment")) {
                if ((from > 0 && !strchr(" \t\n;&|()", bytes[-1])) || memchr(bytes, '\n', len))
                        parse_doubt(p, SHELL_SHELLS, leaf);
                return;
        }
        if (ts_node_is_named(leaf) && !parse_is(leaf, "special_variable_name") &&
            has_expansion(bytes, len))
                parse_doubt(p, SHELL_SHELLS, leaf);
}

/* The next node behind this one and its children; false: there is none. */
static bool
go_on(TSTreeCursor *c)
{
        while (!ts_tree_cursor_goto_next_sibling(c))
                if (!ts_tree_cursor_goto_parent(c))
                        return false;
        return true;
}

void
parse_check_leaves(struct parse *p, TSNode root)
{
        TSTreeCursor c = ts_tree_cursor_new(root);
        size_t at = 0;
        bool has_more = true;

        while (has_more) {
                TSNode node;

                if (ts_tree_cursor_goto_first_child(&c))
                        continue;
                node = ts_tree_cursor_current_node(&c);
                if (ts_node_start_byte(node) >= at) {
                        /* the bytes of a string that are no node are read by read_string() */
                        if (!parse_is(ts_node_parent(node), "string"))
                                check_gap(p, at, ts_node_start_byte(node));
                        at = ts_node_end_byte(node);
                }
                check_leaf(p, node);
                has_more = go_on(&c);
        }
        check_gap(p, at, p->len);
        ts_tree_cursor_delete(&c);
}
