/*
 * shell/parse.c - the statements of a text: what runs, in which pipeline, and what the shell itself
 * does.
 *
 * Room: shell (deciding). Touches: mem.
 * Theory: a table of the statements that every POSIX shell reads the same way. Everything else is a
 * doubt, and the commands inside it are still listed, so that a denied one is seen. A reserved word
 * or an assignment that the grammar takes for a program is a doubt too.
 */
#include "shell/parse.h"

#include <string.h>

#include "text/utf8.h"

enum { BRACKETS_MAX = 2000, JOINS_MAX = 1000 };

const TSLanguage *tree_sitter_bash(void);

const char *
parse_slice(const struct parse *p, TSNode node, size_t *ret_len)
{
        uint32_t from = ts_node_start_byte(node);

        *ret_len = ts_node_end_byte(node) - from;
        return p->text + from;
}

bool
parse_is(TSNode node, const char *type)
{
        return !ts_node_is_null(node) && strcmp(ts_node_type(node), type) == 0;
}

void
parse_doubt(struct parse *p, enum shell_doubt doubt, TSNode node)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        reader_doubt(p->reader, doubt, bytes, len);
}

static void
visit_children(struct parse *p, TSNode node)
{
        uint32_t count = ts_node_child_count(node);

        for (uint32_t i = 0; i < count; i++)
                parse_visit(p, ts_node_child(node, i));
}

/*
 * Doubts a node whose parts are on several lines. The grammar joins lines in some places where a
 * shell begins another command.
 */
static void
check_line(struct parse *p, TSNode node)
{
        uint32_t count = ts_node_child_count(node), at = ts_node_start_byte(node);

        for (uint32_t i = 0; i < count; i++) {
                TSNode child = ts_node_child(node, i);

                for (; at < ts_node_start_byte(child); at++) {
                        if (p->text[at] == '\\')
                                at++; /* a continued line */
                        else if (p->text[at] == '\n')
                                parse_doubt(p, SHELL_SHELLS, node);
                }
                at = ts_node_end_byte(child);
        }
}

/* -- redirections and assignments -------------------------------------------------------------- */

static bool
is_harmless_file(const char *name)
{
        return strcmp(name, "/dev/null") == 0 || strcmp(name, "/dev/stdout") == 0 ||
               strcmp(name, "/dev/stderr") == 0;
}

static bool
is_number(const char *text)
{
        return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

static void
visit_redirect(struct parse *p, TSNode node)
{
        const char *name = NULL, *how = "";
        unsigned count = 0;

        for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
                TSNode child = ts_node_child(node, i);

                if (!ts_node_is_named(child))
                        how = ts_node_type(child);
                else if (!parse_is(child, "file_descriptor") && count++ == 0)
                        name = parse_word(p, child);
        }
        check_line(p, node);
        /* {NAME}> assigns in bash, also PATH; for other shells it is a word */
        if (ts_node_start_byte(node) > 0 && p->text[ts_node_start_byte(node) - 1] == '}')
                parse_doubt(p, SHELL_SHELLS, node);
        /* the grammar also puts the arguments after it there */
        if (count > 1)
                parse_doubt(p, SHELL_SHELLS, node);
        if (strcmp(how, "<") != 0 && strcmp(how, ">") != 0 && strcmp(how, ">>") != 0 &&
            strcmp(how, ">&") != 0 && strcmp(how, "<&") != 0) {
                parse_doubt(p, SHELL_SHELLS, node);
                return;
        }
        if (strcmp(how, ">&") == 0 || strcmp(how, "<&") == 0) {
                if (!name || (!is_number(name) && strcmp(name, "-") != 0))
                        parse_doubt(p, SHELL_SHELLS, node);
                return;
        }
        if (!name || !is_harmless_file(name))
                reader_file(p->reader, name);
        if (name && (strncmp(name, "/dev/tcp/", 9) == 0 || strncmp(name, "/dev/udp/", 9) == 0))
                parse_doubt(p, SHELL_NETWORK, node);
        else if (how[0] == '<' && !name)
                parse_doubt(p, SHELL_EXPANSION, node); /* it may be a network address */
        else if (how[0] == '>' && (!name || !is_harmless_file(name)))
                parse_doubt(p, SHELL_WRITES, node);
}

static void
visit_assignment(struct parse *p, TSNode node, bool is_exported)
{
        TSNode name = ts_node_named_child(node, 0), value = ts_node_named_child(node, 1);
        size_t len;
        const char *bytes;

        if (!parse_is(name, "variable_name") || ts_node_named_child_count(node) > 2 ||
            !parse_is(ts_node_child(node, 1), "=")) {
                parse_doubt(p, SHELL_SHELLS, node); /* an element of an array */
                parse_visit_inside(p, node);
                return;
        }
        bytes = parse_slice(p, name, &len);
        reader_assignment(p->reader, bytes, len, is_exported);
        if (!ts_node_is_null(value))
                (void)parse_word(p, value);
}

static void
visit_plain_assignment(struct parse *p, TSNode node)
{
        visit_assignment(p, node, false);
}

/* export and its relatives: an assignment of a harmless variable, or a doubt */
static void
visit_declaration(struct parse *p, TSNode node)
{
        uint32_t count = ts_node_child_count(node);
        bool is_export = count > 0 && parse_is(ts_node_child(node, 0), "export");

        check_line(p, node);
        if (!is_export)
                parse_doubt(p, SHELL_BUILTIN, node);
        for (uint32_t i = 1; i < count; i++) {
                TSNode child = ts_node_child(node, i);

                if (is_export && parse_is(child, "variable_assignment")) {
                        visit_assignment(p, child, true);
                        continue;
                }
                if (is_export)
                        parse_doubt(p, SHELL_ENVIRONMENT, child);
                parse_visit_inside(p, child);
        }
}

/* -- commands ---------------------------------------------------------------------------------- */

/* Reserved words that the grammar takes for a program in some places. */
static bool
is_reserved(const char *bytes, size_t len)
{
        static const char *const reserved[] = { "if",    "then",     "else",   "elif",   "fi",
                                                "do",    "done",     "case",   "esac",   "while",
                                                "until", "for",      "{",      "}",      "!",
                                                "in",    "function", "select", "coproc", "[[",
                                                "]]" };

        for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
                if (strlen(reserved[i]) == len && memcmp(reserved[i], bytes, len) == 0)
                        return true;
        return false;
}

static bool
is_assignment(const char *bytes, size_t len)
{
        size_t at = 0;

        while (at < len &&
               ((bytes[at] >= 'a' && bytes[at] <= 'z') || (bytes[at] >= 'A' && bytes[at] <= 'Z') ||
                bytes[at] == '_' || (at > 0 && bytes[at] >= '0' && bytes[at] <= '9')))
                at++;
        return at > 0 && at < len && strchr("=+[", bytes[at]) != NULL;
}

static void
check_name(struct parse *p, TSNode node)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);

        if (is_reserved(bytes, len))
                parse_doubt(p, SHELL_SHELLS, node);
        else if (is_assignment(bytes, len))
                parse_doubt(p, SHELL_ENVIRONMENT, node);
}

/* Words that touch are one word for the shell. */
static void
check_apart(struct parse *p, TSNode node)
{
        uint32_t from = ts_node_start_byte(node);

        if (from > 0 && !strchr(" \t\n;&|()<>`{!", p->text[from - 1]))
                parse_doubt(p, SHELL_SHELLS, node);
}

/* By its type: the names of fields are not reliable for repeated children. */
static bool
is_word_of_command(TSNode child, bool has_name)
{
        return has_name ? ts_node_is_named(child) && !parse_is(child, "file_redirect") &&
                                  !parse_is(child, "herestring_redirect")
                        : parse_is(child, "command_name");
}

static void
visit_part_of_command(struct parse *p, TSNode child, bool is_followed)
{
        if (parse_is(child, "variable_assignment"))
                visit_assignment(p, child, is_followed);
        else if (parse_is(child, "file_redirect"))
                visit_redirect(p, child);
        else
                parse_visit(p, child);
}

static void
visit_command(struct parse *p, TSNode node)
{
        uint32_t count = ts_node_child_count(node);
        const char **items = arena_array(p->reader->memory, const char *, count + 1);
        struct words w = { items, 0, false };
        bool has_name = false;

        check_line(p, node);
        for (uint32_t i = 0; i < count; i++)
                has_name = has_name || parse_is(ts_node_child(node, i), "command_name");

        for (uint32_t i = 0; items && i < count; i++) {
                TSNode child = ts_node_child(node, i);

                if (!is_word_of_command(child, w.count > 0)) {
                        visit_part_of_command(p, child, has_name);
                        continue;
                }
                check_apart(p, child);
                if (w.count == 0)
                        check_name(p, child);
                items[w.count] =
                        parse_word(p, w.count == 0 ? ts_node_named_child(child, 0) : child);
                w.count++;
        }
        if (w.count == 0)
                return;
        if (items[0])
                reader_words(p->reader, &w);
        else
                parse_doubt(p, SHELL_EXPANSION, node);
}

/*
 * Commands of one pipeline have its number, and also those in a subshell of it, because the data
 * reaches them.
 */
static void
in_pipeline(struct parse *p, TSNode node, void (*visit)(struct parse *p, TSNode node))
{
        struct reader *r = p->reader;
        unsigned before = r->pipeline;

        if (before == 0) {
                r->pipeline = ++r->pipelines;
                r->place = 0;
        }
        visit(p, node);
        r->pipeline = before;
}

static void
visit_stages(struct parse *p, TSNode node)
{
        uint32_t count = ts_node_child_count(node);

        for (uint32_t i = 0; i < count; i++) {
                parse_visit(p, ts_node_child(node, i));
                p->reader->place += ts_node_is_named(ts_node_child(node, i));
        }
}

static void
visit_pipeline(struct parse *p, TSNode node)
{
        in_pipeline(p, node, visit_stages);
}

static void
visit_one_command(struct parse *p, TSNode node)
{
        in_pipeline(p, node, visit_command);
}

/* [ ... ]: only without expansions, which could add an operator that evaluates. */
static void
visit_test(struct parse *p, TSNode node)
{
        size_t len;
        const char *bytes = parse_slice(p, node, &len);
        static const char *const words[] = { "[" };
        struct words w = { words, 1, true };

        if (len < 4 || bytes[0] != '[' || !strchr(" \t", bytes[1]) || memchr(bytes, '$', len) ||
            memchr(bytes, '`', len) || memmem(bytes, len, "-v", 2) || memmem(bytes, len, "-R", 2) ||
            memchr(bytes, '\n', len) || memchr(bytes, '<', len) || memchr(bytes, '>', len) ||
            memchr(bytes, '&', len)) {
                parse_doubt(p, SHELL_EVALUATES, node);
                parse_visit_inside(p, node);
                return;
        }
        reader_words(p->reader, &w);
}

static void
visit_redirected(struct parse *p, TSNode node)
{
        check_line(p, node);
        visit_children(p, node);
}

static void
visit_for(struct parse *p, TSNode node)
{
        uint32_t count = ts_node_child_count(node);
        size_t len;

        for (uint32_t i = 0; i < count; i++) {
                TSNode child = ts_node_child(node, i);

                if (parse_is(child, "variable_name"))
                        reader_assignment(p->reader, parse_slice(p, child, &len),
                                          ts_node_end_byte(child) - ts_node_start_byte(child),
                                          false);
                else if (!ts_node_is_named(child) || parse_is(child, "do_group") ||
                         parse_is(child, "compound_statement"))
                        parse_visit(p, child);
                else
                        (void)parse_word(p, child);
        }
}

static void
visit_compound(struct parse *p, TSNode node)
{
        parse_doubt(p, SHELL_COMPOUND, node);
        parse_visit_inside(p, node);
}

static void
skip(struct parse *p, TSNode node)
{
        (void)p;
        (void)node;
}

/* -- the tables -------------------------------------------------------------------------------- */

static const struct {
        const char *type;
        void (*visit)(struct parse *p, TSNode node);
} statements[] = {
        { "program", visit_children },
        { "list", visit_children },
        { "subshell", visit_children },
        { "compound_statement", visit_children },
        { "negated_command", visit_children },
        { "if_statement", visit_children },
        { "elif_clause", visit_children },
        { "else_clause", visit_children },
        { "while_statement", visit_children },
        { "do_group", visit_children },
        { "redirected_statement", visit_redirected },
        { "for_statement", visit_for },
        { "pipeline", visit_pipeline },
        { "command", visit_one_command },
        { "test_command", visit_test },
        { "file_redirect", visit_redirect },
        { "variable_assignment", visit_plain_assignment },
        { "declaration_command", visit_declaration },
        { "function_definition", visit_compound },
        { "case_statement", visit_compound },
        { "heredoc_redirect", visit_compound },
        { "comment", skip },
        /* tokens */
        { ";", skip },
        { "&&", skip },
        { "||", skip },
        { "|", skip },
        { "&", skip },
        { "\n", skip },
        { "(", skip },
        { ")", skip },
        { "{", skip },
        { "}", skip },
        { "!", skip },
        { "if", skip },
        { "then", skip },
        { "elif", skip },
        { "else", skip },
        { "fi", skip },
        { "for", skip },
        { "in", skip },
        { "while", skip },
        { "until", skip },
        { "do", skip },
        { "done", skip },
};

static bool
visit_known(struct parse *p, TSNode node)
{
        for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
                if (!parse_is(node, statements[i].type))
                        continue;
                statements[i].visit(p, node);
                return true;
        }
        return false;
}

static bool
enter(struct parse *p, TSNode node)
{
        if (++p->reader->depth <= SHELL_DEPTH_MAX)
                return true;
        parse_doubt(p, SHELL_LIMIT, node);
        p->reader->depth--;
        return false;
}

void
parse_visit(struct parse *p, TSNode node)
{
        if (!enter(p, node))
                return;
        if (!visit_known(p, node)) {
                parse_doubt(p, parse_is(node, "unset_command") ? SHELL_BUILTIN : SHELL_SHELLS,
                            node);
                parse_visit_inside(p, node);
        }
        p->reader->depth--;
}

void
parse_visit_inside(struct parse *p, TSNode node)
{
        if (!enter(p, node))
                return;
        for (uint32_t i = 0; i < ts_node_named_child_count(node); i++) {
                TSNode child = ts_node_named_child(node, i);

                if (!visit_known(p, child))
                        parse_visit_inside(p, child);
        }
        p->reader->depth--;
}

/* -- a text ------------------------------------------------------------------------------------ */

/* Shells differ about other control characters: a carriage return, NUL, DEL. */
static bool
has_control(const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (((unsigned char)text[i] < 0x20 && text[i] != '\t' && text[i] != '\n') ||
                    text[i] == 0x7f)
                        return true;
        return false;
}

/*
 * The time to read brackets that stay open, commands that are joined and here-documents grows with
 * the square of their number.
 */
static bool
takes_long(const char *text, size_t len)
{
        size_t brackets = 0, joins = 0;

        for (size_t i = 0; i < len; i++) {
                brackets += text[i] == '(' || text[i] == '[' || text[i] == '{' || text[i] == '`';
                joins += text[i] == '|' || text[i] == '&' || text[i] == '<';
        }
        return brackets > BRACKETS_MAX || joins > JOINS_MAX;
}

void
reader_text(struct reader *r, const char *text, size_t len)
{
        struct parse p = { r, text, len };
        bool was_in_shell = r->in_shell;
        TSParser *parser;
        TSTree *tree;

        if (len > SHELL_TEXT_MAX || r->depth >= SHELL_DEPTH_MAX || takes_long(text, len)) {
                reader_doubt(r, SHELL_LIMIT, "", 0);
                return;
        }
        if (has_control(text, len) || utf8_valid_len(text, len) != len) {
                reader_doubt(r, SHELL_CONTROL, text, len);
                return;
        }
        parser = ts_parser_new();
        if (!parser || !ts_parser_set_language(parser, tree_sitter_bash())) {
                reader_doubt(r, SHELL_LIMIT, "", 0);
                ts_parser_delete(parser);
                return;
        }
        tree = ts_parser_parse_string(parser, NULL, text, (uint32_t)len);
        if (!tree)
                reader_doubt(r, SHELL_LIMIT, "", 0);
        else if (ts_node_has_error(ts_tree_root_node(tree)))
                reader_doubt(r, SHELL_SYNTAX, text, len);
        r->in_shell = true;
        if (tree) {
                parse_check_leaves(&p, ts_tree_root_node(tree));
                parse_visit(&p, ts_tree_root_node(tree));
        }
        r->in_shell = was_in_shell;
        ts_tree_delete(tree);
        ts_parser_delete(parser);
}
