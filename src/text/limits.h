/*
 * text/limits.h - how large a text may be that is read into a tree.
 */
#ifndef CARREL_TEXT_LIMITS_H
#define CARREL_TEXT_LIMITS_H

#include <stddef.h>

struct text_limits {
        size_t bytes_max;   /* length of the input, bytes */
        unsigned depth_max; /* nesting of lists and maps */
        unsigned nodes_max; /* scalars, lists and maps together */
};

extern const struct text_limits text_limits_manifest; /* 256 KiB, 32, 16384 */

#endif
