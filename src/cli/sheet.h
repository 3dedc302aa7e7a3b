/*
 * cli/sheet.h - rows of a table, printed as Markdown or as the source of a manual page (scdoc).
 */
#ifndef CARREL_CLI_SHEET_H
#define CARREL_CLI_SHEET_H

#include <stdbool.h>
#include <stdio.h>

enum { SHEET_CELLS_MAX = 5 };

struct sheet {
        FILE *out;
        bool is_man;
        const char *const *heads;       /* names of the columns, ended by NULL; used by Markdown */
        bool has_table;                 /* a table is open */
};

/* Starts a part; `level` 1 to 3 deep. In `text`, words in `backquotes` are typed as they stand. */
void sheet_title(struct sheet *sheet, int level, const char *text);

void sheet_paragraph(struct sheet *sheet, const char *text);

/*
 * One row, ended by NULL. Markdown: a line of the table. Manual: the first cell is the term, the last explains it, what
 * is between stands in brackets after the term. Empty cells are passed over.
 */
void sheet_row(struct sheet *sheet, const char *const *cells);

#endif
