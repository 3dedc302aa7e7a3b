/*
 * plan/protect.h - names in a workspace that could run a payload's code on the host later: hooks
 * that git runs, files that a shell or an agent reads at start (P15, B15).
 */
#ifndef CARREL_PLAN_PROTECT_H
#define CARREL_PLAN_PROTECT_H

#include <stdbool.h>
#include <stddef.h>

enum protect_flag {
        /* also if the repository tracks it: it grants sandbox rights, or git runs it */
        PROTECT_ALWAYS = 1u << 0,
        PROTECT_MAKE = 1u << 1, /* may be created, and is then reported */
        /* git configuration: may be created or changed as long as no change runs a program */
        PROTECT_JUDGE = 1u << 2,
        /* A program acts on it in any directory that it enters or opens, so names below the top
         * are searched too (maker/below.h). */
        PROTECT_DEEP = 1u << 3,
};

struct protect_row {
        /* relative to the workspace; "*.X": every name with that ending that exists at the top */
        const char *path;
        const char *program; /* the program that acts on it */
        const char *why;
        unsigned flags; /* enum protect_flag */
};

/* The closed table. ret_count receives the number of rows. */
const struct protect_row *protect_rows(size_t *ret_count);

/* Finds the row with PROTECT_DEEP for the name of `len` bytes, ignoring case. NULL: none. */
const struct protect_row *protect_find_deep(const char *name, size_t len);

#endif
