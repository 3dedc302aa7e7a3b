/*
 * cli/usage.c - the usage line and the help of a command, from its table.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/usage.h"

#include <stdarg.h>
#include <string.h>

enum { COLUMNS = 80, USAGE_INDENT = 8 };

__attribute__((format(printf, 3, 4))) static void
add(char *out, size_t room, const char *format, ...)
{
        size_t len = strlen(out);
        va_list args;

        va_start(args, format);
        (void)vsnprintf(out + len, room - len, format, args);
        va_end(args);
}

static void
add_operands(const struct command *c, char *out, size_t room)
{
        bool is_first = !c->rest || *c->rest == '\0';

        for (const struct operand *o = c->operands; o && o->name; o++) {
                add(out, room, "%s %s", o->is_action && !is_first ? " |" : "", o->name);
                is_first = false;
        }
}

/* An action of a command that runs another one takes the place of that. */
static bool
has_action(const struct command *c)
{
        return c->operands && c->operands->is_action;
}

const char *
usage_line(const struct command *c, char *out, size_t room)
{
        char term[USAGE_TERM_MAX];

        out[0] = '\0';
        if (!c->rest)
                add_operands(c, out, room);
        for (const struct option *row = c->options; row && row->name; row++)
                if (row->doc)
                        add(out, room, " [%s]", usage_option(row, term));
        if (c->rest && !has_action(c))
                add_operands(c, out, room);
        if (c->rest && *c->rest != '\0')
                add(out, room, " %s", c->rest);
        if (c->rest && has_action(c))
                add_operands(c, out, room);
        return out;
}

const char *
usage_option(const struct option *row, char out[USAGE_TERM_MAX])
{
        (void)snprintf(out, USAGE_TERM_MAX, "%s%s%s", row->name, row->value ? " " : "",
                       row->value ? row->value : "");
        return out;
}

const char *
usage_operand(const struct operand *o, char out[USAGE_TERM_MAX])
{
        size_t len = strlen(o->name);

        if (o->name[0] == '[' && o->name[len - 1] == ']')
                (void)snprintf(out, USAGE_TERM_MAX, "%.*s", (int)len - 2, o->name + 1);
        else
                (void)snprintf(out, USAGE_TERM_MAX, "%s", o->name);
        return out;
}

const char *
usage_doc(const struct option *row, char *out, size_t room)
{
        (void)snprintf(out, room, "%s%s", row->doc,
                       option_is_repeatable(row) ? " (repeatable)" : "");
        return out;
}

/* The length of the next word with the space before it. What is in brackets is one word. */
static int
word_len(const char *text)
{
        int depth = 0, len = 0;

        while (text[len] != '\0' && (len == 0 || depth > 0 || text[len] != ' ')) {
                depth += (text[len] == '[') - (text[len] == ']');
                len++;
        }
        return len;
}

/* Prints the words; a line that began at `column` has at most COLUMNS, and others are indented. */
static void
print_wrapped(FILE *out, const char *text, int column, int indent)
{
        for (int len; (len = word_len(text)) > 0; text += len) {
                if (column + len > COLUMNS && column > indent) {
                        (void)fprintf(out, "\n%*s", indent, "");
                        column = indent;
                        text += *text == ' ';
                        len = word_len(text);
                }
                (void)fprintf(out, "%.*s", len, text);
                column += len;
        }
        (void)fputc('\n', out);
}

/* Each line of the text is wrapped by itself. */
static void
print_lines(FILE *out, const char *text)
{
        char line[USAGE_MAX];

        for (size_t len; *text != '\0'; text += len + (text[len] == '\n')) {
                len = strcspn(text, "\n");
                (void)snprintf(line, sizeof line, "%.*s", (int)len, text);
                print_wrapped(out, line, 0, 0);
        }
}

static int
print_row(FILE *out, int width, const char *term, const char *doc)
{
        int len = (int)strlen(term), column = width + 4;

        if (out) {
                (void)fprintf(out, "  %-*s  ", width, term);
                print_wrapped(out, doc, column, column);
        }
        return len > width ? len : width;
}

/* Prints the rows in one column; without a stream only returns its width. */
static int
print_rows(FILE *out, const struct command *c, int width)
{
        char term[USAGE_TERM_MAX], doc[USAGE_DOC_MAX];

        for (const struct operand *o = c->operands; o && o->name; o++)
                if (o->doc)
                        width = print_row(out, width, usage_operand(o, term), o->doc);
        for (const struct option *row = c->options; row && row->name; row++)
                if (row->doc)
                        width = print_row(out, width, usage_option(row, term),
                                          usage_doc(row, doc, sizeof doc));
        return width;
}

void
usage_row(FILE *out, int width, const char *term, const char *doc)
{
        (void)print_row(out, width, term, doc);
}

void
usage_print(FILE *out, const struct command *c)
{
        char line[USAGE_MAX];
        int width = print_rows(NULL, c, 0), column;

        print_lines(out, c->help);
        (void)fputc('\n', out);
        column = fprintf(out, "Usage: carrel %s", c->name);
        print_wrapped(out, usage_line(c, line, sizeof line), column, USAGE_INDENT);
        if (width > 0) {
                (void)fputs("\nOptions:\n", out);
                (void)print_rows(out, c, width);
        }
        if (c->notes)
                print_lines(out, c->notes);
        (void)fprintf(out, "\nExample: %s\n", c->example);
}
