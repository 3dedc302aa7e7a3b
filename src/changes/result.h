/*
 * changes/result.h - what a look found beside its rows.
 */
#ifndef CARREL_CHANGES_RESULT_H
#define CARREL_CHANGES_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "text/json.h"

enum { CHANGES_ROWS_MAX = 32 * 1024, CHANGES_ROOTS_MAX = 128 };

struct changes_result {
        uint64_t names, bytes, rows;
        uint64_t volume_bytes; /* on disk, of the names in volumes that were seen */
        uint64_t more;         /* rows past the most */
        uint64_t unreadable;   /* directories that could not be read and could before */
        /* names, depth or time reached their bound; nothing is known of the time before */
        bool has_too_many, is_too_deep, is_late, has_no_base;
        bool has_failed; /* no memory: nothing of this look counts */
};

/* Is there nothing to say beside the rows? */
bool changes_result_is_whole(const struct changes_result *r);

/* The members that say what is missing: "more", "unreadable", "truncated", "base", "error". */
void changes_result_write(struct json_writer *w, const struct changes_result *r);

#endif
