/*
 * spec/help.h - the field tables as reference text: docs/FIELDS.md and SANDBOX.md(5) are generated
 * from it and checked against it.
 */
#ifndef CARREL_SPEC_HELP_H
#define CARREL_SPEC_HELP_H

#include <stdbool.h>

#include "base/arena.h"
#include "spec/field.h"

/*
 * One line of the page: a field, or a heading if `title` is set. All text lives as long as the
 * call.
 */
struct spec_help_row {
        const char *title;        /* NULL for a field */
        bool is_part;             /* for a title: a subsection of the section before */
        const char *path, *value; /* for a field: "limits.timeout_ms", "integer, 1 to 9" */
        const char *meaning;      /* never NULL; words in `backquotes` are literal */
};

typedef void spec_help_visit(void *ctx, const struct spec_help_row *row);

/* Calls `call` for every line of the page, in order. */
void spec_help_rows(spec_help_visit *call, void *ctx);

/* The same for the fields of another set; no titles. */
void spec_help_set_rows(const struct field_set *set, spec_help_visit *call, void *ctx);

/* The whole page as Markdown, owned by the arena; NULL if out of memory. */
const char *spec_help_text(struct arena *arena);

#endif
