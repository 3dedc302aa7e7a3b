/*
 * spec/help.h - the field tables as a page for people: docs/FIELDS.md is made by it and checked against it.
 */
#ifndef CARREL_SPEC_HELP_H
#define CARREL_SPEC_HELP_H

#include "base/arena.h"

/* The whole page as Markdown, owned by the arena; NULL without memory. */
const char *spec_help_text(struct arena *arena);

#endif
