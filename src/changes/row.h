/*
 * changes/row.h - one row of a list of changed files.
 */
#ifndef CARREL_CHANGES_ROW_H
#define CARREL_CHANGES_ROW_H

#include <stdint.h>

#include "text/json.h"

struct changes_row {
        const char *event, *at, *path; /* `path` in the mount at `at`; "" for the mount itself */
        uint32_t mode;
        uint64_t bytes;
        const char *sha256, *target, *error; /* NULL: absent */
};

void changes_row_write(struct json_writer *w, const struct changes_row *row);

/* Does it have the members of a content? */
int changes_row_is_file(const struct changes_row *row);

#endif
