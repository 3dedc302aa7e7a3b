/*
 * base/numbers.h - the least and the greatest of every kind of number that a caller may give, over
 * any front.
 *
 * Each row is two values: `{ FIELD_PORT, 0, NUMBER_PORT }`. The operations (api/operation.c), the
 * options of the command line (cli/value.c) and the fields of manifests and host files (spec/) take
 * their bounds from here. Each greatest one is exact in a double, and what we compute with it fits
 * in 64 bits: a moment plus a duration in nanoseconds, an offset plus a length.
 */
#ifndef CARREL_BASE_NUMBERS_H
#define CARREL_BASE_NUMBERS_H

#include <stdint.h>

#define NUMBER_EXACT_MAX UINT64_C(9007199254740991) /* 2^53 - 1: exact in every JSON reader */

#define NUMBER_DURATION_MS 1, UINT64_C(31536000000)   /* 365 days */
#define NUMBER_MOMENT_MS 0, UINT64_C(253402300799999) /* since 1970; the last of the year 9999 */
#define NUMBER_BYTES 0, NUMBER_EXACT_MAX              /* an offset, a length, a size */
#define NUMBER_CAP_BYTES 1, NUMBER_EXACT_MAX          /* the most of something */
#define NUMBER_CONNECTIONS 1, UINT32_MAX
#define NUMBER_KEPT_BYTES 4096, 64 << 20 /* of a stream's output, in memory */
#define NUMBER_PORT 1, 65535
#define NUMBER_TERMINAL_SIDE 1, 65535
#define NUMBER_EXEC 1, UINT32_MAX
#define NUMBER_SIGNAL 1, 64
#define NUMBER_MODE 0, 07777
#define NUMBER_DEPTH 1, 16  /* levels of a listing */
#define NUMBER_LIST 1, 1000 /* entries of one part of a list */
#define NUMBER_POOL 0, 256  /* sandboxes that are ready */

/* What is remembered of what the network refused; the rest is counted. */
#define NUMBER_REFUSALS_LISTED 16 /* different things of one command, the first ones */
#define NUMBER_REFUSALS_FIRST 16  /* of a sandbox, the first, */
#define NUMBER_REFUSALS_LAST 48   /* and of the others the last */
#define NUMBER_FOUND_FIRST 16     /* of what commands left behind, the first, */
#define NUMBER_FOUND_LAST 16      /* and of the others the last */
#define NUMBER_REFUSALS_HELD 256  /* of all commands of a sandbox */

/* One of these as words of a text. */
#define NUMBER_TEXT(number) NUMBER_TEXT_OF(number)
#define NUMBER_TEXT_OF(number) #number

#endif
