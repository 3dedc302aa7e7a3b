/*
 * text/source.c - the input bytes: checks that they are text, and finds line and column of a byte.
 *
 * Room: text (words). Touches: nothing.
 * Theory: a cursor that only moves forward answers ascending queries in one pass over the bytes; a
 * query about an earlier byte starts again from the first byte.
 */
#include "text/source.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text/utf8.h"

int
syntax_error(struct error *e, struct place at, const char *reason, const char *fmt, ...)
{
        char text[sizeof e->message];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        (void)fail_at(e, ERROR_MANIFEST_SYNTAX, "", reason, "%s", text);
        e->line = at.line;
        e->column = at.column;
        return -1;
}

static void
rewind_cursor(struct source *s)
{
        s->at = s->chars = s->line_start = 0;
        s->line = s->first_line;
}

void
source_init(struct source *s, const char *bytes, size_t len, unsigned first_line)
{
        *s = (struct source){ .bytes = bytes, .len = len, .first_line = first_line };
        rewind_cursor(s);
}

/* Moves past one byte; a character is counted at its first byte. */
static void
step(struct source *s)
{
        unsigned char byte = (unsigned char)s->bytes[s->at++];

        if (s->at == s->len || ((unsigned char)s->bytes[s->at] & 0xc0) != 0x80)
                s->chars++;
        if (byte == '\n') {
                s->line++;
                s->line_start = s->at;
        }
}

struct place
source_place(struct source *s, size_t offset)
{
        if (offset < s->at)
                rewind_cursor(s);
        while (s->at < offset && s->at < s->len)
                step(s);
        return (struct place){ s->line, (unsigned)(s->at - s->line_start) + 1 };
}

size_t
source_offset(struct source *s, size_t character)
{
        if (character < s->chars)
                rewind_cursor(s);
        while (s->chars < character && s->at < s->len)
                step(s);
        return s->at;
}

int
source_check_utf8(struct source *s, const char *reason, struct error *e)
{
        size_t valid = utf8_valid_len(s->bytes, s->len);
        const char *nul = memchr(s->bytes, '\0', s->len);

        if (s->len >= 3 && memcmp(s->bytes, "\xef\xbb\xbf", 3) == 0)
                return syntax_error(
                        e, source_place(s, 0), reason,
                        "the text begins with a byte order mark; save it as UTF-8 without one");
        if (s->len >= 2 &&
            (memcmp(s->bytes, "\xff\xfe", 2) == 0 || memcmp(s->bytes, "\xfe\xff", 2) == 0))
                return syntax_error(e, source_place(s, 0), reason,
                                    "the text is UTF-16; save it as UTF-8");
        if (nul && (size_t)(nul - s->bytes) < valid)
                return syntax_error(e, source_place(s, (size_t)(nul - s->bytes)), reason,
                                    "the text contains a NUL byte");
        if (valid < s->len)
                return syntax_error(e, source_place(s, valid), reason, "a byte here is not UTF-8");
        return 0;
}

static const struct forbidden {
        uint32_t first, last;
        const char *what;
} forbidden[] = {
        { 0x0000, 0x0008, "a control character" },
        { 0x000b, 0x000c, "a control character" },
        { 0x000d, 0x000d, "a carriage return without a line feed" },
        { 0x000e, 0x001f, "a control character" },
        { 0x007f, 0x009f, "a control character" },
        { 0x2028, 0x2029, "a Unicode line separator" },
        { 0xfeff, 0xfeff, "a byte order mark" },
        { 0xfffe, 0xffff, "a code that is no character" },
};

static const char *
forbidden_name(uint32_t point)
{
        for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
                if (point >= forbidden[i].first && point <= forbidden[i].last)
                        return forbidden[i].what;
        }
        return NULL;
}

static bool
is_plain_ascii(unsigned char byte)
{
        return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t';
}

int
source_check_controls(struct source *s, const char *reason, struct error *e)
{
        size_t at = 0;

        while (at < s->len) {
                const char *name;
                uint32_t point;
                size_t len;

                if (is_plain_ascii((unsigned char)s->bytes[at])) {
                        at++;
                        continue;
                }
                len = utf8_next(s->bytes + at, s->len - at, &point);
                name = forbidden_name(point);
                if (name && !(point == '\r' && at + 1 < s->len && s->bytes[at + 1] == '\n'))
                        return syntax_error(e, source_place(s, at), reason,
                                            "the text contains %s (U+%04X); write it as an escape "
                                            "in double quotes",
                                            name, point);
                at += len;
        }
        return 0;
}
