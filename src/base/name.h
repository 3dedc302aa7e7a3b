/*
 * base/name.h - names that callers choose: of sandboxes and of volumes.
 */
#ifndef CARREL_BASE_NAME_H
#define CARREL_BASE_NAME_H

#include <stdbool.h>

enum { NAME_MAX_LEN = 64 };

/* How a message says it. */
#define NAME_SHAPE "[a-z0-9][a-z0-9_.-]{0,63}, and not sixteen hex digits, which an id is"
#define NAME_HINT                                                                                 \
        "A name has lower-case letters, digits, dots, dashes and underscores, and begins with a " \
        "letter or a digit."

/* Is `text` (NUL-terminated, any length) such a name? It holds no slash and does not begin with a
 * dot, so it is one name of a directory. */
bool name_is_valid(const char *text);

#endif
