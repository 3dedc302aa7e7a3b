/*
 * spec/path.c - normalises paths as authors write them.
 *
 * Room: spec (deciding, pure). Touches: mem.
 */
#include "spec/path.h"

#include <string.h>

#include "base/below.h"

static const char *const reserved[] = { "/proc", "/sys", "/dev" };

/* Control bytes, C0 and DEL; and C1 in UTF-8 (C2 80 to C2 9F). */
static bool
has_control(const char *text)
{
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
                if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
                        return true;
        return false;
}

/* Copies the components of `text` to `out`, each after a "/"; false at a "..". `out` has room for
 * len + 2 bytes. */
static bool
collapse(const char *text, char *out)
{
        while (*text) {
                size_t len = strcspn(text, "/");

                if (len == 2 && memcmp(text, "..", 2) == 0)
                        return false;
                if (len > 0 && !(len == 1 && *text == '.')) {
                        *out++ = '/';
                        memcpy(out, text, len);
                        out += len;
                }
                text += len;
                text += *text == '/';
        }
        *out = '\0';
        return true;
}

static bool
is_reserved(const char *path)
{
        if (path[0] == '\0')
                return true;
        for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
                if (path_below(path, reserved[i]))
                        return true;
        return false;
}

enum path_fault
path_read_absolute(struct arena *arena, const char *text, const char **ret)
{
        char *path;

        if (has_control(text))
                return PATH_CHARSET;
        if (text[0] != '/')
                return PATH_NOT_ABSOLUTE;
        path = arena_alloc(arena, strlen(text) + 2);
        if (!path)
                return PATH_NO_MEMORY;
        if (!collapse(text, path))
                return PATH_DOTDOT;
        if (is_reserved(path))
                return PATH_RESERVED;
        *ret = path;
        return PATH_GOOD;
}

enum path_fault
path_read_relative(struct arena *arena, const char *text, const char **ret)
{
        char *path;

        if (has_control(text))
                return PATH_CHARSET;
        if (text[0] == '/')
                return PATH_NOT_RELATIVE;
        path = arena_alloc(arena, strlen(text) + 2);
        if (!path)
                return PATH_NO_MEMORY;
        if (!collapse(text, path))
                return PATH_DOTDOT;
        if (path[0] == '\0')
                return PATH_NOT_RELATIVE;
        *ret = path + 1;
        return PATH_GOOD;
}
