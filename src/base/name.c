/*
 * base/name.c - names that callers choose.
 *
 * Room: base (words). Touches: nothing.
 */
#include "base/name.h"

#include <stddef.h>
#include <string.h>

enum { ID_DIGITS = 16 };

bool
name_is_valid(const char *text)
{
        size_t len = strlen(text);
        bool begins_well = (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= '0' && text[0] <= '9');

        return len <= NAME_MAX_LEN && begins_well &&
               strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == len &&
               !(len == ID_DIGITS && strspn(text, "0123456789abcdef") == len);
}
