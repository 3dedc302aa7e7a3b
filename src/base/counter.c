/*
 * base/counter.c - a number in a text of the kernel.
 *
 * Room: base (words). Touches: nothing.
 */
#include "base/counter.h"

#include <stdlib.h>
#include <string.h>

uint64_t
counter_find(const char *text, const char *key)
{
        size_t len = strlen(key);

        while (len > 0 && (strncmp(text, key, len) != 0 || text[len] != ' ')) {
                text = strchr(text, '\n');
                if (!text)
                        return UINT64_MAX;
                text++;
        }
        text += len + (len > 0);
        return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}
