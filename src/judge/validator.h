/*
 * judge/validator.h - checks on the text of a command: its length, and a pattern.
 *
 *     validators:
 *       shell:
 *         cmd: {max_length: 255, pattern: '^[ -~]*$'}
 */
#ifndef CARREL_JUDGE_VALIDATOR_H
#define CARREL_JUDGE_VALIDATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

enum { VALIDATOR_PATTERN_MAX = 256 };

/* Bounds are UINT64_MAX or 0 where none is written. */
struct validator {
        uint64_t min_length, max_length; /* characters (Unicode code points) */
        uint64_t min_bytes, max_bytes;
        const char *pattern; /* POSIX extended expression that must match somewhere; or NULL */
};

/*
 * Reads the map `validators`. Borrows the tree. Errors: ERROR_SCHEMA_INVALID with the place: a tool
 * other than `shell`, an argument other than `cmd`, an unknown check, a pattern that is none or has
 * a back reference.
 */
int validator_read(const struct node *map, struct validator *ret, struct error *e);

/*
 * The name of the check that the text fails, or NULL. Text that is not UTF-8 fails each check of
 * characters. A pattern's time and memory are bounded by the process that judges.
 */
const char *validator_find_fault(const struct validator *v, const char *text);

#endif
