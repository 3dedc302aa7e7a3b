/*
 * rest/range.h - which part of a file a request asks for. Pure. Source: RFC 9110, 14.
 */
#ifndef CARREL_REST_RANGE_H
#define CARREL_REST_RANGE_H

#include <stdint.h>

enum range_kind {
        RANGE_NONE /* the whole file */,
        RANGE_FROM /* first, length */,
        RANGE_LAST /* the last `length` bytes */
};

struct range {
        enum range_kind kind;
        uint64_t first, length; /* UINT64_MAX: to the end */
};

/* Reads a Range header. A malformed one, or one with several parts, is ignored: RANGE_NONE. */
struct range range_read(const char *value);

#endif
