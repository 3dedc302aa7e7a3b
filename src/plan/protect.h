/*
 * plan/protect.h - names in a workspace through which a payload could speak to the host later: hooks that git runs,
 * files that a shell or an agent reads when it starts. They are read-only inside unless a manifest opens them (P15, B15).
 */
#ifndef CARREL_PLAN_PROTECT_H
#define CARREL_PLAN_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* git dies of an empty one; a dot says what its absence says. */
#define PROTECT_COMMONDIR ".git/commondir"
#define PROTECT_COMMONDIR_TEXT ".\n"

/* How a placeholder is told from what is somebody's: narrow mode, hardly any content, and a time that nothing else has. */
enum { PLACEHOLDER_FILE = 0400, PLACEHOLDER_DIRECTORY = 0500, PLACEHOLDER_TIME_S = 36 };

static inline bool
protect_is_placeholder(const struct stat *st)
{
        bool is_marked = S_ISDIR(st->st_mode) ? (st->st_mode & 07777) == PLACEHOLDER_DIRECTORY
                                              : S_ISREG(st->st_mode) && (st->st_mode & 07777) == PLACEHOLDER_FILE &&
                                                        st->st_size <= (off_t)sizeof PROTECT_COMMONDIR_TEXT - 1;

        return is_marked && st->st_mtime == PLACEHOLDER_TIME_S;
}

struct protect_row {
        const char *path;              /* relative to the workspace */
        bool is_directory;             /* what stands in its place while it is missing */
        const char *why;
};

/* The closed table; gives the number of rows. */
const struct protect_row *protect_rows(size_t *ret_count);

#endif
