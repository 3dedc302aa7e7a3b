/*
 * cli/doc_table.h - prints rows of a table as Markdown or as the source of a manual page (scdoc).
 */
#ifndef CARREL_CLI_DOC_TABLE_H
#define CARREL_CLI_DOC_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum { SHEET_CELLS_MAX = 5 };

struct doc_table {
        FILE *out;
        bool is_man;
        const char *const *heads; /* column names, ended by NULL; used by Markdown */
        bool has_table;           /* a table is open */
};

/* Starts a section; `level` is 1 to 3. In `text`, words in `backquotes` are literal. */
void doc_table_title(struct doc_table *sheet, int level, const char *text);

void doc_table_paragraph(struct doc_table *sheet, const char *text);

/*
 * Prints one row, ended by NULL. Markdown: a line of the table. Manual: the first cell is the term,
 * the last explains it, and the cells between follow the term in brackets. Empty cells are skipped.
 */
void doc_table_row(struct doc_table *sheet, const char *const *cells);

#endif
