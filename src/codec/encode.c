/*
 * codec/encode.c - encodes bytes for JSON and URLs, and decodes them.
 *
 * Room: codec (deciding). Touches: mem.
 */
#include "codec/encode.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
base64_write(const void *bytes, size_t len, char *out)
{
        const unsigned char *at = bytes;
        char *start = out;

        for (; len >= 3; len -= 3, at += 3) {
                *out++ = digits[at[0] >> 2];
                *out++ = digits[(at[0] & 3) << 4 | at[1] >> 4];
                *out++ = digits[(at[1] & 15) << 2 | at[2] >> 6];
                *out++ = digits[at[2] & 63];
        }
        if (len > 0) {
                *out++ = digits[at[0] >> 2];
                *out++ = digits[(at[0] & 3) << 4 | (len > 1 ? at[1] >> 4 : 0)];
                *out++ = len > 1 ? digits[(at[1] & 15) << 2] : '=';
                *out++ = '=';
        }
        *out = '\0';
        return (size_t)(out - start);
}

static int
digit_of(char c)
{
        return c >= 'A' && c <= 'Z'   ? c - 'A'
               : c >= 'a' && c <= 'z' ? c - 'a' + 26
               : c >= '0' && c <= '9' ? c - '0' + 52
               : c == '+'             ? 62
               : c == '/'             ? 63
                                      : -1;
}

int
base64_read(const char *text, size_t len, void *out, size_t *ret_len)
{
        unsigned char *to = out;
        size_t count = 0, pad = 0;
        uint32_t group = 0;

        for (size_t i = 0; i < len; i++) {
                int digit = text[i] == '=' ? 0 : digit_of(text[i]);

                if (text[i] == '\r' || text[i] == '\n')
                        continue;
                if (digit < 0 || (pad > 0 && text[i] != '='))
                        return -1;
                pad += text[i] == '=';
                group = group << 6 | (uint32_t)digit;
                if (++count % 4 != 0)
                        continue;
                *to++ = (unsigned char)(group >> 16);
                *to++ = (unsigned char)(group >> 8);
                *to++ = (unsigned char)group;
        }
        if (count % 4 != 0 || pad > 2)
                return -1;
        *ret_len = count / 4 * 3 - pad;
        return 0;
}

static int
hex_of(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

int
percent_read(const char *text, size_t len, int is_query, char *out, size_t *ret_len)
{
        size_t used = 0;

        for (size_t i = 0; i < len; i++) {
                if (text[i] == '%') {
                        int high = len - i > 2 ? hex_of(text[i + 1]) : -1,
                            low = len - i > 2 ? hex_of(text[i + 2]) : -1;

                        if (high < 0 || low < 0 || (high == 0 && low == 0))
                                return -1;
                        out[used++] = (char)(high << 4 | low);
                        i += 2;
                } else {
                        out[used++] = text[i] == '+' && is_query ? ' ' : text[i];
                }
        }
        out[used] = '\0';
        *ret_len = used;
        return 0;
}

void
encode_member(struct json_writer *w, const char *key, const void *bytes, size_t len, int is_base64)
{
        char *text = is_base64 ? malloc(BASE64_ROOM(len)) : NULL;

        json_key(w, key);
        if (!is_base64) {
                json_bytes(w, bytes ? bytes : "", len);
        } else if (text) {
                json_bytes(w, text, base64_write(bytes, len, text));
        } else {
                w->is_broken = true;
        }
        free(text);
}

size_t
encode_whole_len(const char *bytes, size_t len)
{
        for (size_t back = 1; back <= 3 && back <= len; back++) {
                unsigned char c = (unsigned char)bytes[len - back];
                size_t want = c >= 0xf0 && c <= 0xf4  ? 4
                              : c >= 0xe0 && c < 0xf0 ? 3
                              : c >= 0xc2 && c < 0xe0 ? 2
                                                      : 0;
                uint32_t point;

                if ((c & 0xc0) == 0x80)
                        continue;
                /*
                 * The last bytes may be the start of a valid character: they wait for the rest of
                 * it.
                 */
                return want > back && utf8_next(bytes + len - back, back, &point) == back
                               ? len - back
                               : len;
        }
        return len;
}
