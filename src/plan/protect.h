/*
 * plan/protect.h - names in a workspace through which a payload could speak to the host later: hooks that git runs,
 * files that a shell or an agent reads when it starts (P15, B15).
 */
#ifndef CARREL_PLAN_PROTECT_H
#define CARREL_PLAN_PROTECT_H

#include <stdbool.h>
#include <stddef.h>

enum protect_flag {
        PROTECT_ALWAYS = 1u << 0,      /* also where the repository tracks it: it says what a sandbox may do, or git runs it */
        PROTECT_MAKE = 1u << 1,        /* may be made, and is reported then */
        PROTECT_JUDGE = 1u << 2,       /* git's configuration: may be changed and made as far as no change runs a program */
        PROTECT_DEEP = 1u << 3,        /* a program acts on it in whatever directory it is entered or opened: also looked for below the top (maker/below.h) */
};

struct protect_row {
        const char *path;              /* relative to the workspace; "*.X": every name that ends so and exists at the top */
        const char *program;           /* who acts on it */
        const char *why;
        unsigned flags;                /* enum protect_flag */
};

/* The closed table; gives the number of rows. */
const struct protect_row *protect_rows(size_t *ret_count);

/* The row with PROTECT_DEEP of the name of `len` bytes, whatever its case; NULL: none. */
const struct protect_row *protect_find_deep(const char *name, size_t len);

#endif
