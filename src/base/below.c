/*
 * base/below.c - is a path below a directory?
 *
 * Room: base (words). Touches: memory.
 */
#include "base/below.h"

#include <stddef.h>
#include <string.h>

const char *
path_below(const char *path, const char *top)
{
        size_t len = strlen(top);

        while (len > 0 && top[len - 1] == '/')
                len--;
        if (strncmp(path, top, len) != 0 || (path[len] != '/' && path[len] != '\0'))
                return NULL;
        return path + len + strspn(path + len, "/");
}
