/*
 * mcp/tokens.c - the estimate: runs of white space, of punctuation and of other characters, each
 * with a cost.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: white space costs nothing. A run with an ideographic character costs one token a
 * character. A number, or a run of up to three units, costs one. Punctuation costs one for two
 * units. Other runs cost one for six units; if they have a letter typical of a language with
 * accents, one for three or for three and a half.
 */
#include "mcp/tokens.h"

#include <stdbool.h>
#include <string.h>

#include "text/utf8.h"

enum run_kind { RUN_BLANK, RUN_MARK, RUN_OTHER };

struct run {
        enum run_kind kind;
        const char *text;
        size_t len;            /* bytes */
        int64_t units, points; /* of UTF-16, characters */
        int64_t tokens;
};

struct range {
        uint32_t first, last;
};

/* The characters of \s in ECMAScript. */
static const struct range blanks[] = {
        { 0x09, 0x0d },     { 0x20, 0x20 },     { 0xa0, 0xa0 },     { 0x1680, 0x1680 },
        { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f },
        { 0x3000, 0x3000 }, { 0xfeff, 0xfeff },
};
static const struct range ideographs[] = {
        { 0x1100, 0x11ff }, { 0x2e80, 0x2eff }, { 0x3000, 0x303f }, { 0x30a0, 0x30ff },
        { 0x3130, 0x318f }, { 0x31c0, 0x31ef }, { 0x3200, 0x33ff }, { 0x3400, 0x4dbf },
        { 0x4e00, 0x9fff }, { 0xa960, 0xa97f }, { 0xac00, 0xd7af }, { 0xd7b0, 0xd7ff },
        { 0xff00, 0xffef },
};
static const char marks[] = ".,!?;(){}[]<>:/\\|@#$%^&*+=`~_-";

/* Letters typical of a language, in both cases. The first list that has one decides. */
static const uint32_t thirds[] = {
        0xe4, 0xf6, 0xfc, 0xc4, 0xd6, 0xdc, 0xdf, 0x1e9e, 0xe9, 0xc9, 0xe8,  0xc8,
        0xea, 0xca, 0xeb, 0xcb, 0xe0, 0xc0, 0xe2, 0xc2,   0xee, 0xce, 0xef,  0xcf,
        0xf4, 0xd4, 0xfb, 0xdb, 0xf9, 0xd9, 0xff, 0x178,  0xe7, 0xc7, 0x153, 0x152,
        0xe6, 0xc6, 0xe1, 0xc1, 0xed, 0xcd, 0xf3, 0xd3,   0xfa, 0xda, 0xf1,  0xd1,
};
static const uint32_t two_sevenths[] = {
        0x105, 0x104, 0x107, 0x106, 0x119, 0x118, 0x142, 0x141, 0x144, 0x143, 0x15b, 0x15a,
        0x17a, 0x179, 0x17c, 0x17b, 0x11b, 0x11a, 0x161, 0x160, 0x10d, 0x10c, 0x159, 0x158,
        0x17e, 0x17d, 0xfd,  0xdd,  0x16f, 0x16e, 0x10f, 0x10e, 0x165, 0x164, 0x148, 0x147,
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool
is_in(uint32_t point, const struct range *ranges, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (point >= ranges[i].first && point <= ranges[i].last)
                        return true;
        return false;
}

static bool
is_one_of(uint32_t point, const uint32_t *points, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (points[i] == point)
                        return true;
        return false;
}

static enum run_kind
kind_of(uint32_t point)
{
        if (is_in(point, blanks, COUNT(blanks)))
                return RUN_BLANK;
        return point > 0 && point < 0x80 && strchr(marks, (int)point) ? RUN_MARK : RUN_OTHER;
}

struct traits {
        bool has_ideograph, has_third, has_two_sevenths, is_number;
};

static int64_t
price(const struct run *r, const struct traits *t)
{
        if (r->kind == RUN_BLANK)
                return 0;
        if (t->has_ideograph)
                return r->points;
        if (t->is_number || r->units <= 3)
                return 1;
        if (r->kind == RUN_MARK)
                return (r->units + 1) / 2;
        if (t->has_third)
                return (r->units + 2) / 3;
        if (t->has_two_sevenths)
                return (2 * r->units + 6) / 7;
        return (r->units + 5) / 6;
}

/* The run at the start of `len` (at least 1) bytes. */
static struct run
next_run(const char *text, size_t len)
{
        struct traits t = { .is_number = true };
        struct run r = { .text = text };

        while (r.len < len) {
                uint32_t point;
                size_t step = utf8_next(text + r.len, len - r.len, &point);
                enum run_kind kind = kind_of(point);

                if (r.len > 0 && kind != r.kind)
                        break;
                r.kind = kind;
                r.len += step;
                r.points++;
                r.units += point != UTF8_INVALID && point > 0xffff ? 2 : 1;
                if (point >= 0x80) {
                        t.has_ideograph =
                                t.has_ideograph || is_in(point, ideographs, COUNT(ideographs));
                        t.has_third = t.has_third || is_one_of(point, thirds, COUNT(thirds));
                        t.has_two_sevenths = t.has_two_sevenths ||
                                             is_one_of(point, two_sevenths, COUNT(two_sevenths));
                }
                t.is_number = t.is_number && point >= '0' && point <= '9';
        }
        r.tokens = price(&r, &t);
        return r;
}

int64_t
tokens_count(const char *text, size_t len)
{
        int64_t count = 0;

        while (len > 0) {
                struct run r = next_run(text, len);

                count += r.tokens;
                text += r.len;
                len -= r.len;
        }
        return count;
}

/* Appends the UTF-16 units of a run from `first` to before `last`. */
static void
put_units(struct mcp_bytes *out, const struct run *r, int64_t first, int64_t last)
{
        int64_t unit = 0;

        for (size_t at = 0; at < r->len && unit < last;) {
                uint32_t point;
                size_t step = utf8_next(r->text + at, r->len - at, &point);
                int64_t units = point != UTF8_INVALID && point > 0xffff ? 2 : 1;

                if (unit >= first && unit + units <= last)
                        mcp_bytes_put(out, r->text + at, step);
                else if (unit + units > first)
                        mcp_bytes_text(out, "\xef\xbf\xbd");
                unit += units;
                at += step;
        }
}

/* Calculates with doubles in this order, because the estimate depends on their rounding. */
static void
put_part(struct mcp_bytes *out, const struct run *r, int64_t start, int64_t end)
{
        double tokens = (double)r->tokens, units = (double)r->units;
        double first = (double)(start > 0 ? start : 0),
               last = (double)(end < r->tokens ? end : r->tokens);

        double end_unit = last / tokens * units;

        put_units(out, r, (int64_t)(first / tokens * units),
                  (int64_t)end_unit + ((double)(int64_t)end_unit < end_unit));
}

void
tokens_slice(struct mcp_bytes *out, const char *text, size_t len, int64_t start, int64_t end)
{
        int64_t at = 0;

        while (len > 0 && at < end && start < end) {
                struct run r = next_run(text, len);

                if (r.tokens == 0 ? at >= start : at >= start && at + r.tokens <= end)
                        mcp_bytes_put(out, r.text, r.len);
                else if (r.tokens > 0 && at + r.tokens > start)
                        put_part(out, &r, start - at, end - at);
                at += r.tokens;
                text += r.len;
                len -= r.len;
        }
}
