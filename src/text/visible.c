/*
 * text/visible.c - makes arbitrary bytes safe to show on a terminal.
 *
 * Room: text (words). Touches: mem.
 */
#include "text/visible.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text/utf8.h"

enum { CHUNK = 4096 };

/* One byte as \xNN. */
static size_t
escape_byte(unsigned char c, char *out)
{
        static const char digits[] = "0123456789abcdef";

        out[0] = '\\';
        out[1] = 'x';
        out[2] = digits[c >> 4];
        out[3] = digits[c & 15];
        return VISIBLE_MAX;
}

static size_t
escape_bytes(const char *in, size_t len, char *out)
{
        for (size_t i = 0; i < len; i++)
                (void)escape_byte((unsigned char)in[i], out + i * VISIBLE_MAX);
        return len * VISIBLE_MAX;
}

/* A bidirectional control as \uNNNN: it has at least two bytes, which have room for eight. */
static size_t
escape_direction(uint32_t point, char *out)
{
        char text[8];
        int len = snprintf(text, sizeof text, "\\u%04x", (unsigned)point);

        memcpy(out, text, (size_t)len);
        return (size_t)len;
}

/* Could more bytes complete a character here, or a carriage return become a line end? */
static bool
may_go_on(const char *in, size_t len, uint32_t point)
{
        unsigned char c = (unsigned char)in[0];

        return (point == UTF8_INVALID && c >= 0xc2 && c <= 0xf4) || (len == 1 && c == '\r');
}

/* Escapes consecutive bytes; a sequence that may continue is kept in `v`. */
static size_t
escape(struct visible *v, const char *in, size_t len, bool is_last, char *out)
{
        size_t used = 0, n;

        v->held_len = 0;
        for (size_t i = 0; i < len; i += n) {
                unsigned char c = (unsigned char)in[i];
                uint32_t point;

                n = utf8_next(in + i, len - i, &point);
                if (i + n == len && !is_last && may_go_on(in + i, n, point)) {
                        memcpy(v->held, in + i, n);
                        v->held_len = n;
                } else if (point == UTF8_INVALID) {
                        used += escape_bytes(in + i, n, out + used);
                } else if (point >= 0x80 && point < 0xa0) {
                        used += escape_byte((unsigned char)point, out + used);
                } else if (utf8_drives_terminal(point)) {
                        used += escape_direction(point, out + used);
                } else if ((c < 0x20 && c != '\n' && c != '\t' &&
                            !(c == '\r' && i + 1 < len && in[i + 1] == '\n')) ||
                           c == 0x7f) {
                        out[used++] = '^';
                        out[used++] = (char)(c ^ 0x40);
                } else {
                        memcpy(out + used, in + i, n);
                        used += n;
                }
        }
        return used;
}

size_t
visible_write(struct visible *v, const char *in, size_t len, bool is_last, char *out)
{
        char raw[VISIBLE_HELD_MAX + CHUNK];
        size_t used = 0;

        do {
                size_t held = v->held_len, n = len < CHUNK ? len : CHUNK;

                memcpy(raw, v->held, held);
                if (n > 0) {
                        memcpy(raw + held, in, n);
                        in += n;
                        len -= n;
                }
                used += escape(v, raw, held + n, is_last && len == 0, out + used);
        } while (len > 0);
        return used;
}
