/*
 * text/json_escape.c - escapes bytes for a JSON string.
 *
 * Room: text (words). Touches: mem.
 * Theory: a command's output may need an escape at each byte, so one byte costs a table lookup and
 * a copy of six bytes. Runs without escapes are copied as a whole.
 */
#include "text/json.h"

#include <string.h>

#include "text/utf8.h"

static const char short_forms[128] = { ['"'] = '"',  ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r',
                                       ['\t'] = 't', ['\b'] = 'b',  ['\f'] = 'f' };

static bool
is_plain(char c)
{
        return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f && c != '"' && c != '\\';
}

static size_t
escape_point(uint32_t point, char *out)
{
        static const char digits[] = "0123456789abcdef";

        out[0] = '\\';
        if (point < 128 && short_forms[point] != '\0') {
                out[1] = short_forms[point];
                return 2;
        }
        out[1] = 'u';
        out[2] = digits[point >> 12 & 15];
        out[3] = digits[point >> 8 & 15];
        out[4] = digits[point >> 4 & 15];
        out[5] = digits[point & 15];
        return JSON_ESCAPE_MAX;
}

/* One character that may need another form: at most JSON_ESCAPE_MAX bytes. */
static size_t
escape_character(const char *bytes, size_t len, char *out, size_t *ret_taken)
{
        uint32_t point;

        *ret_taken = utf8_next(bytes, len, &point);
        if (point == UTF8_INVALID) {
                /* lint: bytes of a longer text */
                memcpy(out, "\xef\xbf\xbd", 3);
                return 3;
        }
        if (point <= 0x7f || point == 0x2028 || point == 0x2029 || utf8_drives_terminal(point))
                return escape_point(point, out);
        memcpy(out, bytes, *ret_taken);
        return *ret_taken;
}

size_t
json_escape(const char *bytes, size_t len, char *out, size_t room, size_t *ret_taken)
{
        size_t at = 0, used = 0, taken;

        while (at < len && room - used >= JSON_ESCAPE_MAX) {
                size_t run = at, most = room - used < len - at ? at + (room - used) : len;

                while (run < most && is_plain(bytes[run]))
                        run++;
                memcpy(out + used, bytes + at, run - at);
                used += run - at;
                at = run;
                if (run == most || room - used < JSON_ESCAPE_MAX)
                        continue;
                used += escape_character(bytes + at, len - at, out + used, &taken);
                at += taken;
        }
        *ret_taken = at;
        return used;
}
