/*
 * ref/target.c - what a reference points at, by its words alone.
 *
 * Room: ref (acting; this file touches nothing but mem).
 * Knows the three forms. Knows nothing of directories or registries.
 * Theory: a climb is counted, not resolved; the directory handle and the kernel have the last word on symbolic links.
 */
#include "ref/target.h"

#include <stdbool.h>
#include <string.h>

enum { REF_LEN_MAX = 1024 };

static int
invalid(struct error *e, const char *why)
{
        return fail_at(e, ERROR_REF_UNRESOLVABLE, "", "invalid_form", "this reference has no form that can be followed: %s", why);
}

static int
outside(struct error *e, const char *text)
{
        return fail_at(e, ERROR_REF_UNRESOLVABLE, "", "outside_workspace", "\"%.200s\" leads out of the workspace", text);
}

/* [a-z0-9][a-z0-9-]* up to `stop`; gives what follows, or NULL. */
static const char *
slug_part(const char *at, char stop)
{
        size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return len > 0 && at[0] != '-' && at[len] == stop ? at + len : NULL;
}

static int
read_slug(struct arena *arena, const char *text, struct ref_target *ret, struct error *e)
{
        const char *slash = slug_part(text + 1, '/');

        if (!slash || !slug_part(slash + 1, '\0'))
                return invalid(e, "a registry entry is @owner/slug, in lower-case letters, digits and \"-\"");
        *ret = (struct ref_target){ .kind = REF_SLUG, .slug = arena_text(arena, text) };
        return ret->slug ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a reference");
}

/* Does the path, by its words, climb above where it starts? */
static bool
path_climbs(const char *path)
{
        int depth = 0;

        for (const char *at = path; *at != '\0' && depth >= 0; at += strspn(at, "/")) {
                size_t len = strcspn(at, "/");

                if (len == 2 && at[0] == '.' && at[1] == '.')
                        depth--;
                else if (!(len == 1 && at[0] == '.'))
                        depth++;
                at += len;
        }
        return depth < 0;
}

static bool
is_named(const char *path, const char *name)
{
        const char *slash = strrchr(path, '/');
        const char *base = slash ? slash + 1 : path;
        size_t len = strlen(base), tail = strlen(name);

        if (strcmp(base, name) == 0)
                return true;
        return len > tail + 1 && base[len - tail - 1] == '.' && strcmp(base + len - tail, name) == 0;
}

static int
read_path(struct arena *arena, const char *text, const char *path, const char *name, struct ref_target *ret,
          struct error *e)
{
        if (path_climbs(path))
                return outside(e, text);
        if (!is_named(path, name))
                return invalid(e, "the file it names has another name than it must have");
        ret->path = arena_text(arena, path);
        return ret->path ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a reference");
}

static int
read_sibling(struct arena *arena, const char *text, const char *name, struct ref_target *ret, struct error *e)
{
        const char *start = text + 3;
        const char *slash = strchr(start, '/');
        size_t len = slash ? (size_t)(slash - start) : 0;

        if (strncmp(start, "..", 2) == 0 && (start[2] == '/' || start[2] == '\0'))
                return outside(e, text);
        if (len == 0 || (len == 1 && start[0] == '.'))
                return invalid(e, "after \"../\" stand the name of a workspace and a path in it");
        ret->kind = REF_SIBLING;
        ret->sibling = arena_copy(arena, start, len);
        if (!ret->sibling)
                return fail(e, ERROR_NO_MEMORY, "no memory for a reference");
        return read_path(arena, text, slash + 1, name, ret, e);
}

int
ref_target_read(struct arena *arena, const char *text, const char *name, struct ref_target *ret, struct error *e)
{
        *ret = (struct ref_target){ .kind = REF_PATH };
        if (strlen(text) > REF_LEN_MAX)
                return invalid(e, "it is too long");
        for (const char *c = text; *c != '\0'; c++)
                if ((unsigned char)*c < ' ' || *c == 127 || *c == '\\')
                        return invalid(e, "it holds a control character or a backslash");
        if (text[0] == '@')
                return read_slug(arena, text, ret, e);
        if (strncmp(text, "./", 2) == 0)
                return read_path(arena, text, text + 2, name, ret, e);
        if (strncmp(text, "../", 3) == 0)
                return read_sibling(arena, text, name, ret, e);
        return invalid(e, "it is ./path, ../workspace/path or @owner/slug");
}
