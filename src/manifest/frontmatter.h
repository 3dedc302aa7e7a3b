/*
 * manifest/frontmatter.h - finds the front matter: the part of a Markdown file that programs read.
 *
 * The first line is `---`, a later line is `---`, and YAML is between them. Blanks after the dashes
 * and CR LF are allowed; anything before the first line is not.
 */
#ifndef CARREL_MANIFEST_FRONTMATTER_H
#define CARREL_MANIFEST_FRONTMATTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct frontmatter {
        const char *text; /* borrowed from the file; not NUL-terminated */
        size_t len;
        unsigned first_line; /* of text within the file, 1-based */
};

/* Is the first line `---`? */
bool frontmatter_begins(const char *bytes, size_t len);

/*
 * Finds the front matter in `len` bytes. Errors: ERROR_MANIFEST_SYNTAX with "no_frontmatter",
 * "unterminated_frontmatter", or "yaml" if a byte order mark precedes the first line.
 */
int frontmatter_find(const char *bytes, size_t len, struct frontmatter *ret, struct error *e);

#endif
