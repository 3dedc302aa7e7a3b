/*
 * text/strip.c - removes what a terminal acts on, and what a person cannot see.
 *
 * Room: text (words). Touches: mem.
 *
 *     TEXT --ESC--> ESCAPE --[--> CSI --final--> TEXT
 *                     |  \--] P X ^ _--> STRING --BEL (of OSC), ST--> TEXT
 *                     |                    \--ESC--> STRING_ESCAPE --\--> TEXT
 *                     \--0x20-0x2f--> INTERMEDIATE --final--> TEXT
 *
 * Theory: ECMA-48, section 5.3 to 5.6, with the recovery of terminals: CAN, SUB and ESC end a
 * sequence, and what cannot continue one ends it and is read as text. The state machine sees
 * characters, so that the second byte of one is never taken for a control.
 */
#include "text/strip.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "text/utf8.h"

enum { TEXT, ESCAPE, INTERMEDIATE, CSI, STRING, OSC, STRING_ESCAPE };
enum { BEL = 0x07, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f, C1_CSI = 0x9b, C1_ST = 0x9c };

/* A character, or one byte that is none. */
struct unit {
        const char *bytes;
        size_t len;
        uint32_t point; /* UTF8_INVALID: a byte that is no control */
};

static int
put(const struct unit *u, struct buffer *out)
{
        return buffer_add(out, u->bytes, u->len, SIZE_MAX / 2);
}

/* -- hidden characters ------------------------------------------------------------------------- */

/* May a presentation selector follow it? Keycaps and symbols; no letter has one. */
static bool
has_forms(uint32_t point)
{
        return (point >= '0' && point <= '9') || point == '#' || point == '*' || point == 0xa9 ||
               point == 0xae || (point >= 0x2030 && point < 0x3300) ||
               (point >= 0x1f000 && point < 0x20000);
}

static int
show(struct strip *s, const struct unit *u, struct buffer *out)
{
        bool is_selector = u->point == 0xfe0e || u->point == 0xfe0f, stays;

        stays = !s->hidden || u->point == UTF8_INVALID || u->point < 0xa0 ||
                !utf8_is_hidden(u->point) || (is_selector && s->after_base);
        s->after_base = has_forms(u->point);
        s->hiddens += !stays;
        return stays ? put(u, out) : 0;
}

/* -- terminal control -------------------------------------------------------------------------- */

/* The state after the C1 control `c` (0x80 to 0x9f), or after ESC and `c` - 0x40. */
static unsigned char
after_c1(uint32_t c)
{
        return c == C1_CSI                                        ? CSI
               : c == 0x9d                                        ? OSC
               : c == 0x90 || c == 0x98 || c == 0x9e || c == 0x9f ? STRING
                                                                  : TEXT;
}

static void
begin(struct strip *s, unsigned char state)
{
        s->state = state;
        s->string_len = 0;
        s->controls++;
}

static int
read_text(struct strip *s, const struct unit *u, struct buffer *out)
{
        uint32_t c = u->point;

        if (c == ESC)
                begin(s, ESCAPE);
        else if (c >= 0x80 && c < 0xa0)
                begin(s, after_c1(c));
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == DEL)
                s->controls++;
        else
                return show(s, u, out);
        s->after_base = false;
        return 0;
}

/* 1: the character belongs to the sequence; 0: it ended the sequence, and is read as text. */
static int
continue_sequence(struct strip *s, uint32_t c)
{
        if (c == CAN || c == SUB) {
                s->state = TEXT;
                return 1;
        }
        if (s->state == ESCAPE && c >= 0x40 && c < 0x60) {
                s->state = after_c1(c + 0x40);
                return 1;
        }
        if (s->state == CSI ? c >= 0x20 && c < 0x40 : c >= 0x20 && c < 0x30) {
                s->state = s->state == ESCAPE ? INTERMEDIATE : s->state;
                return 1;
        }
        if (c >= (s->state == CSI ? 0x40u : 0x30u) && c < DEL) {
                s->state = TEXT;
                return 1;
        }
        s->state = TEXT;
        return 0;
}

/* The same for a string, whose content goes with it. */
static int
continue_string(struct strip *s, const struct unit *u)
{
        uint32_t c = u->point;

        s->string_len += u->len;
        if (c == CAN || c == SUB || c == C1_ST || (c == BEL && s->state == OSC))
                s->state = TEXT;
        else if (s->state == STRING_ESCAPE) {
                /* another escape sequence ends the string, too */
                s->state = c == '\\' ? TEXT : ESCAPE;
                return c == '\\' ? 1 : continue_sequence(s, c);
        } else if (c == ESC)
                s->state = STRING_ESCAPE;
        else if (s->string_len > STRIP_STRING_MAX) {
                s->state = TEXT;
                return 0;
        }
        return 1;
}

static int
read_unit(struct strip *s, const struct unit *u, struct buffer *out)
{
        int taken = 0;

        if (!s->control)
                return show(s, u, out);
        if (s->state >= STRING)
                taken = continue_string(s, u);
        else if (s->state != TEXT)
                taken = continue_sequence(s, u->point);
        return taken ? 0 : read_text(s, u, out);
}

/* A carriage return is decided by what follows it; within a sequence it is like any other. */
static int
read_line(struct strip *s, const struct unit *u, struct buffer *out)
{
        static const struct unit line = { "\n", 1, '\n' };
        int result = 0;

        if (s->ends_line) {
                s->ends_line = false;
                s->controls += u->point != '\n';
                result = u->point == '\n' ? buffer_add(out, "\r", 1, SIZE_MAX / 2)
                                          : show(s, &line, out);
        }
        if (s->control && u->point == '\r' && s->state < STRING) {
                s->state = TEXT;
                s->ends_line = true;
                return result;
        }
        return read_unit(s, u, out) < 0 ? -1 : result;
}

/* -- characters -------------------------------------------------------------------------------- */

/* Bytes of no character, one by one. */
static int
read_bytes(struct strip *s, const char *bytes, size_t len, struct buffer *out)
{
        int result = 0;

        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)bytes[i];
                const struct unit u = { bytes + i, 1, c < 0xa0 ? c : UTF8_INVALID };

                result = read_line(s, &u, out) < 0 ? -1 : result;
        }
        return result;
}

static bool
may_go_on(const char *bytes, uint32_t point)
{
        unsigned char c = (unsigned char)bytes[0];

        return point == UTF8_INVALID && c >= 0xc2 && c <= 0xf4;
}

/* Returns how many of `len` bytes were read; the rest begins a character. */
static size_t
read_all(struct strip *s, const char *in, size_t len, bool is_last, struct buffer *out, int *result)
{
        size_t n;

        for (size_t i = 0; i < len; i += n) {
                struct unit u = { .bytes = in + i };

                n = u.len = utf8_next(in + i, len - i, &u.point);
                if (i + n == len && !is_last && may_go_on(in + i, u.point))
                        return i;
                if (u.point == UTF8_INVALID ? read_bytes(s, in + i, n, out) < 0
                                            : read_line(s, &u, out) < 0)
                        *result = -1;
        }
        return len;
}

int
strip_write(struct strip *s, const char *in, size_t len, bool is_last, struct buffer *out)
{
        static const struct unit line = { "\n", 1, '\n' };
        int result = 0;
        size_t used;

        /* a character that was cut is completed byte by byte: it has at most 4 */
        while (s->held_len > 0 && len > 0) {
                s->held[s->held_len++] = *in++;
                len--;
                used = read_all(s, s->held, s->held_len, false, out, &result);
                s->held_len -= used;
                memmove(s->held, s->held + used, s->held_len);
        }
        if (s->held_len > 0 && is_last) {
                (void)read_all(s, s->held, s->held_len, true, out, &result);
                s->held_len = 0;
        }
        if (len > 0) {
                used = read_all(s, in, len, is_last, out, &result);
                s->held_len = len - used;
                memcpy(s->held, in + used, s->held_len);
        }
        if (is_last && s->ends_line) {
                s->ends_line = false;
                s->controls++;
                result = show(s, &line, out) < 0 ? -1 : result;
        }
        return result < 0 ? -ENOMEM : 0;
}
