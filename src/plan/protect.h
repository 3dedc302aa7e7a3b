/*
 * plan/protect.h - names in a workspace through which a payload could speak to the host later: hooks that git runs,
 * files that a shell or an agent reads when it starts. They are read-only inside unless a manifest opens them (P15, B15).
 */
#ifndef CARREL_PLAN_PROTECT_H
#define CARREL_PLAN_PROTECT_H

#include <stdbool.h>
#include <stddef.h>

struct protect_row {
        const char *path;              /* relative to the workspace */
        bool is_directory;             /* what stands in its place while it is missing */
        const char *why;
};

/* The closed table; gives the number of rows. */
const struct protect_row *protect_rows(size_t *ret_count);

#endif
