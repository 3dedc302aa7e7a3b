/*
 * manifest/frontmatter.c - finds the front matter: the part of a Markdown file that programs read.
 *
 * Room: manifest (deciding). Touches: nothing.
 * Theory: only whole lines of dashes count, so this file need not understand the YAML.
 */
#include "manifest/frontmatter.h"

#include <string.h>

/* Bytes of the line at `bytes`, including its line feed. */
static size_t
line_len(const char *bytes, size_t len)
{
        const char *end = len > 0 ? memchr(bytes, '\n', len) : NULL;

        return end ? (size_t)(end - bytes) + 1 : len;
}

static bool
is_dashes(const char *line, size_t len)
{
        while (len > 0 && strchr(" \t\r\n", line[len - 1]) && line[len - 1] != '\0')
                len--;
        return len == 3 && memcmp(line, "---", 3) == 0;
}

bool
frontmatter_begins(const char *bytes, size_t len)
{
        return is_dashes(bytes, line_len(bytes, len));
}

static int
refuse(struct error *e, const char *reason, const char *sentence, const char *hint)
{
        (void)fail_at(e, ERROR_MANIFEST_SYNTAX, "", reason, "%s", sentence);
        e->line = 1;
        e->column = 1;
        error_hint(e, "%s", hint);
        return -1;
}

static bool
has_byte_order_mark(const char *bytes, size_t len)
{
        return (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) ||
               (len >= 2 &&
                (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0));
}

int
frontmatter_find(const char *bytes, size_t len, struct frontmatter *ret, struct error *e)
{
        size_t start = line_len(bytes, len), at;

        if (has_byte_order_mark(bytes, len))
                return refuse(e, "yaml", "the file begins with a byte order mark",
                              "Save it as UTF-8 without one.");
        if (!frontmatter_begins(bytes, len))
                return refuse(e, "no_frontmatter", "the file does not begin with front matter",
                              "Begin the file with a line `---`, the block in YAML, and another "
                              "line `---`.");
        for (at = start; at < len; at += line_len(bytes + at, len - at)) {
                if (!is_dashes(bytes + at, line_len(bytes + at, len - at)))
                        continue;
                *ret = (struct frontmatter){ .text = bytes + start,
                                             .len = at - start,
                                             .first_line = 2 };
                return 0;
        }
        return refuse(e, "unterminated_frontmatter", "the front matter that begins here has no end",
                      "Write a line `---` after the block.");
}
