/*
 * keeper/approval_lines.c - what a person reads of an approval.
 *
 * Room: keeper (joining). Touches: mem.
 */
#include "keeper/approval_lines.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "keeper/sandbox.h"
#include "text/utf8.h"

enum {
        SHOWN_MAX = 16 * 1024,
        SHOWN_END = 1024, /* of a value that is cut, its last bytes are shown too */
        POINTS_MAX = 24,
        HEX = 64
};

size_t
approval_lines_escape(char *out, size_t most, const char *text, size_t len)
{
        size_t at = 0, used = 0;

        while (at < len) {
                char one[16];
                uint32_t point;
                size_t step = utf8_next(text + at, len - at, &point);
                int size;

                if (point == UTF8_INVALID)
                        step = 1;
                if (point == '\n')
                        size = snprintf(one, sizeof one, "\\n");
                else if (point == '\\')
                        size = snprintf(one, sizeof one, "\\\\");
                else if (point == UTF8_INVALID || point < 0x20 || point == 0x7f)
                        size = snprintf(one, sizeof one, "\\x%02x", (unsigned char)text[at]);
                else if (point == ' ' && (at == 0 || at + 1 == len))
                        size = snprintf(one, sizeof one, "\\x20"); /* nobody sees it there */
                else if (utf8_is_hidden(point))
                        size = snprintf(one, sizeof one, "\\u{%04x}", point);
                else
                        size = snprintf(one, sizeof one, "%.*s", (int)step, text + at);
                if (used + (size_t)size >= most)
                        break;
                memcpy(out + used, one, (size_t)size);
                used += (size_t)size;
                at += step;
        }
        out[used] = '\0';
        return at;
}

void
approval_lines_put(struct approval_lines *l, const char *line)
{
        size_t len = strlen(line) + 1;

        if (l->unshown > 0 || l->len + len > sizeof l->text) {
                l->unshown++;
                return;
        }
        memcpy(l->text + l->len, line, len);
        l->len += len;
}

/* The last part of a long value begins where a character does. */
static size_t
begin_of_end(const char *text, size_t len)
{
        size_t at = len - SHOWN_END;

        while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
                at++;
        return at;
}

/* Of a value that is too long: begin, end, length and digest. Only input may be so long. */
static void
show_cut(struct approval_lines *l, const char *name, const char *text, size_t len)
{
        static char line[SHOWN_MAX + 256], last[2 * SHOWN_END];
        char hex[HEX + 1];
        unsigned char digest[crypto_hash_sha256_BYTES];
        size_t end = begin_of_end(text, len), begin, used, shown;

        l->cut += strcmp(name, api_field(FIELD_INPUT)->name) != 0;
        begin = (size_t)snprintf(line, sizeof line, "%s: ", name);
        shown = approval_lines_escape(line + begin, SHOWN_MAX - sizeof last, text, end);
        used = strlen(line);
        (void)approval_lines_escape(last, sizeof last, text + end, len - end);
        (void)crypto_hash_sha256(digest, (const unsigned char *)text, len);
        (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
        (void)snprintf(line + used, sizeof line - used,
                       " [cut: %zu bytes are not shown, %zu in all, sha256 %s] %s", end - shown,
                       len, hex, last);
        approval_lines_put(l, line);
}

void
approval_lines_show_points(struct approval_lines *l, const char *text, size_t len)
{
        static char line[POINTS_MAX * 10 + 64];
        uint32_t seen[POINTS_MAX];
        size_t count = 0, used = (size_t)snprintf(line, sizeof line, "  not ASCII:");

        for (size_t at = 0, step; at < len; at += step) {
                uint32_t point;
                size_t i = 0;

                step = utf8_next(text + at, len - at, &point);
                if (point == UTF8_INVALID)
                        step = 1;
                if (point < 0x80 || point == UTF8_INVALID)
                        continue;
                while (i < count && seen[i] != point)
                        i++;
                if (i < count)
                        continue;
                if (count == POINTS_MAX) {
                        (void)snprintf(line + used, sizeof line - used, " and others");
                        break;
                }
                seen[count++] = point;
                used += (size_t)snprintf(line + used, sizeof line - used, " U+%04X", point);
        }
        if (count > 0)
                approval_lines_put(l, line);
}

void
approval_lines_show(struct approval_lines *l, const char *name, const void *bytes, size_t len)
{
        static char line[SHOWN_MAX + 256];
        size_t head = (size_t)snprintf(line, sizeof line, "%s: ", name);

        if (approval_lines_escape(line + head, SHOWN_MAX - 2 * SHOWN_END, bytes, len) < len)
                show_cut(l, name, bytes, len);
        else
                approval_lines_put(l, line);
        approval_lines_show_points(l, bytes, len);
}
