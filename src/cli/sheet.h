/*
 * cli/sheet.h - prints rows of a table as Markdown or as the source of a manual page (scdoc).
 */
#ifndef CARREL_CLI_SHEET_H
#define CARREL_CLI_SHEET_H

#include <stdbool.h>
#include <stdio.h>

enum { SHEET_CELLS_MAX = 5 };

struct sheet {
        FILE *out;
        bool is_man;
        const char *const *heads; /* column names, ended by NULL; used by Markdown */
        bool has_table;           /* a table is open */
};

/* Starts a section; `level` is 1 to 3. In `text`, words in `backquotes` are literal. */
void sheet_title(struct sheet *sheet, int level, const char *text);

void sheet_paragraph(struct sheet *sheet, const char *text);

/*
 * Prints one row, ended by NULL. Markdown: a line of the table. Manual: the first cell is the term,
 * the last explains it, and the cells between follow the term in brackets. Empty cells are skipped.
 */
void sheet_row(struct sheet *sheet, const char *const *cells);

#endif
