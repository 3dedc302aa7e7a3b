/*
 * cli/size_text.c - a number of bytes for people.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/size_text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

const char *
size_text(uint64_t bytes, char out[SIZE_TEXT])
{
        static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        uint64_t tenths = bytes * 10;
        size_t unit = 0;

        while (tenths >= 10240 && unit + 1 < sizeof units / sizeof *units) {
                tenths /= 1024;
                unit++;
        }
        if (unit == 0 || tenths >= 1000)
                (void)snprintf(out, SIZE_TEXT, "%" PRIu64 " %s", tenths / 10, units[unit]);
        else
                (void)snprintf(out, SIZE_TEXT, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10,
                               tenths % 10, units[unit]);
        return out;
}
