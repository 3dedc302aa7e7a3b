/*
 * base/name.c - names that callers choose.
 *
 * Room: base (words). Touches: nothing.
 */
#include "base/name.h"

#include <stdio.h>
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

static bool
is_plain(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == ':' || c == '_' || c == '-';
}

size_t
name_encode(const char *text, char *ret, size_t room)
{
        size_t at = 0;

        for (const char *c = text; *c != '\0'; c++) {
                if (at + 4 > room)
                        return 0;
                at += (size_t)(is_plain(*c)
                                       ? snprintf(ret + at, room - at, "%c", *c)
                                       : snprintf(ret + at, room - at, "=%02x", (unsigned char)*c));
        }
        return at;
}

static int
hex_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
name_decode(const char *name, char *ret, size_t room)
{
        size_t at = 0;

        for (const char *c = name; *c != '\0'; c++) {
                int high = 0, low = 0;

                if (at + 1 >= room)
                        return false;
                if (*c != '=') {
                        if (!is_plain(*c))
                                return false;
                        ret[at++] = *c;
                        continue;
                }
                high = hex_digit(c[1]);
                low = high < 0 ? -1 : hex_digit(c[2]);
                if (low < 0 || high * 16 + low == 0 || is_plain((char)(high * 16 + low)))
                        return false;
                ret[at++] = (char)(high * 16 + low);
                c += 2;
        }
        ret[at] = '\0';
        return at > 0;
}
