/*
 * cli/doc_table.c - prints rows of a table as Markdown or as the source of a manual page.
 *
 * Room: cli (joining, program). Touches: fd (the stream it receives).
 * Theory: the texts come from tables of the program and contain no markup except `backquotes`.
 * scdoc treats _ * \ and the first character of a line as markup, Markdown treats | as the end of a
 * cell: those are escaped here and nowhere else.
 */
#include "cli/doc_table.h"

#include <string.h>

static void
man_text(FILE *out, const char *text)
{
        for (; text && *text != '\0'; text++) {
                if (*text == '`') {
                        (void)fputc('*', out);
                        continue;
                }
                if (strchr("_*\\#[]|<>~", *text))
                        (void)fputc('\\', out);
                (void)fputc(*text, out);
        }
}

static void
markdown_text(FILE *out, const char *text, bool is_code)
{
        if (is_code)
                (void)fputc('`', out);
        for (; *text != '\0'; text++) {
                if (*text == '|')
                        (void)fputc('\\', out);
                (void)fputc(*text, out);
        }
        if (is_code)
                (void)fputc('`', out);
}

void
doc_table_title(struct doc_table *sheet, int level, const char *text)
{
        (void)fputc('\n', sheet->out);
        for (int i = 0; i < level; i++)
                (void)fputc('#', sheet->out);
        (void)fputc(' ', sheet->out);
        for (; *text != '\0'; text++) /* headings of a manual page have no markup */
                if (!sheet->is_man || *text != '`')
                        (void)fputc(*text, sheet->out);
        (void)fputs("\n\n", sheet->out);
        sheet->has_table = false;
}

void
doc_table_paragraph(struct doc_table *sheet, const char *text)
{
        if (sheet->is_man)
                man_text(sheet->out, text);
        else
                (void)fputs(text, sheet->out);
        (void)fputs("\n\n", sheet->out);
        sheet->has_table = false;
}

static void
man_row(FILE *out, const char *const *cells, size_t count)
{
        bool is_open = false;

        (void)fputc('*', out);
        man_text(out, cells[0]);
        (void)fputc('*', out);
        for (size_t i = 1; i + 1 < count; i++) {
                if (*cells[i] == '\0')
                        continue;
                (void)fputs(is_open ? ", " : " (", out);
                is_open = true;
                man_text(out, cells[i]);
        }
        (void)fputs(is_open ? ")\n\t" : "\n\t", out);
        man_text(out, cells[count - 1]);
        (void)fputs("\n\n", out);
}

static void
markdown_head(struct doc_table *sheet)
{
        for (size_t i = 0; sheet->heads[i]; i++)
                (void)fprintf(sheet->out, "| %s ", sheet->heads[i]);
        (void)fputs("|\n", sheet->out);
        for (size_t i = 0; sheet->heads[i]; i++)
                (void)fputs("|---", sheet->out);
        (void)fputs("|\n", sheet->out);
        sheet->has_table = true;
}

void
doc_table_row(struct doc_table *sheet, const char *const *cells)
{
        size_t count = 0;

        while (cells[count])
                count++;
        if (sheet->is_man) {
                man_row(sheet->out, cells, count);
                return;
        }
        if (!sheet->has_table)
                markdown_head(sheet);
        for (size_t i = 0; i < count; i++) {
                (void)fputs("| ", sheet->out);
                markdown_text(sheet->out, cells[i], i == 0);
                (void)fputc(' ', sheet->out);
        }
        (void)fputs("|\n", sheet->out);
}
