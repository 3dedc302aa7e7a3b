/*
 * base/name.h - names that callers choose: of sandboxes and of volumes.
 */
#ifndef CARREL_BASE_NAME_H
#define CARREL_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_MAX_LEN = 64 };

/* How a message says it. */
#define NAME_SHAPE "[a-z0-9][a-z0-9_.-]{0,63}, and not sixteen hex digits, which an id is"
#define NAME_HINT                                                                                 \
        "A name has lower-case letters, digits, dots, dashes and underscores, and begins with a " \
        "letter or a digit."

/* Is `text` (NUL-terminated, any length) such a name? It holds no slash and does not begin with a
 * dot, so it is one name of a directory. */
bool name_is_valid(const char *text);

/*
 * Any text as one name of a directory: letters, digits, ':', '_' and '-' stay, every other byte
 * becomes =XX. Different texts have different names, and no name contains a dot or a slash. Returns
 * its length, 0 if `room` is too small (3 bytes for one of the text, and the NUL) or the text is
 * empty.
 */
size_t name_encode(const char *text, char *ret, size_t room);

/* The text of which name_encode() makes `name`. false: of none, or `room` is too small. */
bool name_decode(const char *name, char *ret, size_t room);

#endif
