/*
 * rest/range.c - which part of a file a request asks for.
 *
 * Room: rest (joining). Touches: nothing.
 */
#include "rest/range.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Reads digits as a number and advances *at. Returns -1 for no digits or too many. */
static int
read_number(const char **at, uint64_t *ret)
{
        size_t digits = strspn(*at, "0123456789");

        if (digits == 0 || digits > 18)
                return -1;
        *ret = 0;
        for (size_t i = 0; i < digits; i++)
                *ret = *ret * 10 + (uint64_t)(*(*at)++ - '0');
        return 0;
}

struct range
range_read(const char *value)
{
        const struct range none = { RANGE_NONE, 0, UINT64_MAX };
        struct range r = none;
        uint64_t last;

        if (!value || strncasecmp(value, "bytes=", 6) != 0)
                return none;
        value += 6;
        if (*value == '-') {
                value++;
                r.kind = RANGE_LAST;
                return read_number(&value, &r.length) == 0 && *value == '\0' && r.length > 0 ? r
                                                                                             : none;
        }
        r.kind = RANGE_FROM;
        if (read_number(&value, &r.first) < 0 || *value != '-')
                return none;
        if (*++value == '\0')
                return r;
        if (read_number(&value, &last) < 0 || *value != '\0' || last < r.first)
                return none;
        r.length = last - r.first + 1;
        return r;
}
