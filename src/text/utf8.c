/*
 * text/utf8.c - checks UTF-8 and finds the first invalid byte.
 *
 * Room: text (words). Touches: nothing.
 * Theory: only the second byte of a character has special bounds (no overlong forms, no surrogates,
 * nothing past U+10FFFF), so one row per lead byte is enough. Source: Unicode 15, table 3-7.
 */
#include "text/utf8.h"

static const struct lead {
        unsigned char first, last; /* lead bytes of this row */
        unsigned char len;         /* of the whole character */
        unsigned char low, high;   /* bounds of the second byte */
} leads[] = {
        { 0x00, 0x7f, 1, 0x00, 0x00 }, { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
        { 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *
lead_find(unsigned char byte)
{
        for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
                if (byte >= leads[i].first && byte <= leads[i].last)
                        return &leads[i];
        }
        return NULL;
}

size_t
utf8_next(const char *bytes, size_t len, uint32_t *ret_point)
{
        const unsigned char *p = (const unsigned char *)bytes;
        const struct lead *lead = lead_find(p[0]);
        uint32_t point;
        size_t i;

        *ret_point = UTF8_INVALID;
        if (!lead)
                return 1;
        point = lead->len == 1 ? p[0] : p[0] & (0x7fu >> lead->len);
        for (i = 1; i < lead->len; i++) {
                unsigned char low = i == 1 ? lead->low : 0x80, high = i == 1 ? lead->high : 0xbf;

                if (i >= len || p[i] < low || p[i] > high)
                        return i;
                point = point << 6 | (p[i] & 0x3fu);
        }
        *ret_point = point;
        return i;
}

size_t
utf8_valid_len(const char *bytes, size_t len)
{
        size_t at = 0;

        while (at < len) {
                uint32_t point;
                size_t step = utf8_next(bytes + at, len - at, &point);

                if (point == UTF8_INVALID)
                        break;
                at += step;
        }
        return at;
}

bool
utf8_drives_terminal(uint32_t point)
{
        return (point >= 0x80 && point < 0xa0) || point == 0x61c || point == 0x200e ||
               point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
               (point >= 0x2066 && point <= 0x2069);
}

bool
utf8_is_hidden(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x115f ||
               c == 0x1160 || c == 0x180e || (c >= 0x200b && c <= 0x200f) ||
               (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x3164 ||
               (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c == 0xffa0 ||
               (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}
