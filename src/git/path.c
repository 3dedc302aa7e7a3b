/*
 * git/path.c - where the words of a configuration, a gitfile or a link lead within a workspace.
 *
 * Room: git (deciding). Touches: nothing.
 */
#include "git/path.h"

#include <string.h>

/* Appends the pieces of `at` to ret. False: they lead outside, or there is no room. */
static bool
walk(const char *at, char *ret, size_t room, size_t *len)
{
        while (*at != '\0') {
                size_t piece = strcspn(at, "/");

                if (piece == 2 && at[0] == '.' && at[1] == '.') {
                        if (*len == 0)
                                return false;
                        while (*len > 0 && ret[--*len] != '/')
                                continue;
                } else if (piece > 0 && !(piece == 1 && at[0] == '.')) {
                        if (*len + piece + 2 > room)
                                return false;
                        if (*len > 0)
                                ret[(*len)++] = '/';
                        memcpy(ret + *len, at, piece);
                        *len += piece;
                }
                at += piece;
                at += *at == '/';
        }
        return true;
}

bool
git_path_resolve(const char *root, const char *base, const char *words, char *ret, size_t room)
{
        size_t len = 0, root_len = strlen(root);

        if (words[0] == '/') {
                if (strncmp(words, root, root_len) != 0 || (words[root_len] != '/' && root_len > 1))
                        return false;
                words += root_len;
                base = "";
        }
        if (!walk(base, ret, room, &len) || !walk(words, ret, room, &len))
                return false;
        ret[len] = '\0';
        return len > 0;
}
