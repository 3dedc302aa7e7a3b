/*
 * spec/reference.c - the three forms in which one file points to another.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows text only. Knows nothing of directories, links or registries. The room `ref` opens the
 * named file beneath a directory handle, so a link cannot lead where the text may not.
 */
#include "spec/reference.h"

#include <string.h>

#include "spec/section.h"

enum { TEXT_MAX = 4095 };

static int
refuse(struct error *e, const char *reason, const char *sentence)
{
        return fail_at(e, ERROR_REF_UNRESOLVABLE, NULL, reason, "%s", sentence);
}

static int
invalid(struct error *e)
{
        return refuse(
                e, "invalid_form",
                "a reference is ./path, ../sibling/path or @owner/slug, and this is none of them");
}

/* Collapses `text` into `out` (strlen(text) + 1 bytes); -1 if ".." climbs above the start. */
static int
collapse(const char *text, char *out)
{
        size_t used = 0;

        while (*text) {
                size_t len = strcspn(text, "/");

                if (len == 2 && memcmp(text, "..", 2) == 0) {
                        if (used == 0)
                                return -1;
                        while (used > 0 && out[--used] != '/')
                                ;
                } else if (len > 0 && !(len == 1 && *text == '.')) {
                        if (used > 0)
                                out[used++] = '/';
                        memcpy(out + used, text, len);
                        used += len;
                }
                text += len;
                text += *text == '/';
        }
        out[used] = '\0';
        return 0;
}

/* Is the last component `name`, or does it end in ".name"? */
static bool
is_called(const char *path, const char *name)
{
        const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
        size_t len = strlen(last), name_len = strlen(name);

        if (len < name_len || strcmp(last + len - name_len, name) != 0)
                return false;
        return len == name_len || (len > name_len + 1 && last[len - name_len - 1] == '.');
}

static int
slug_read(struct arena *arena, const char *text, struct reference *ret, struct error *e)
{
        const char *slash = strchr(text, '/');

        if (!id_check(text))
                return invalid(e);
        ret->kind = REFERENCE_SLUG;
        ret->owner = arena_copy(arena, text + 1, (size_t)(slash - text - 1));
        ret->slug = arena_text(arena, slash + 1);
        return ret->owner && ret->slug ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a reference");
}

/* "../sibling/rest": copies the sibling and returns the rest, or NULL. */
static const char *
sibling_take(struct arena *arena, const char *text, struct reference *ret, struct error *e)
{
        size_t len;

        text += 3 + strspn(text + 3, "/");
        len = strcspn(text, "/");
        if ((len == 2 && memcmp(text, "..", 2) == 0)) {
                (void)refuse(
                        e, "outside_workspace",
                        "a reference climbs one level, to a sibling workspace, and no further");
                return NULL;
        }
        if (len == 0 || (len == 1 && *text == '.') || text[len] == '\0') {
                (void)invalid(e);
                return NULL;
        }
        ret->kind = REFERENCE_SIBLING;
        ret->sibling = arena_copy(arena, text, len);
        if (!ret->sibling) {
                (void)fail(e, ERROR_NO_MEMORY, "no memory for a reference");
                return NULL;
        }
        return text + len + 1;
}

static bool
has_control(const char *text)
{
        for (; *text; text++)
                if ((unsigned char)*text < 0x20 || *text == 0x7f)
                        return true;
        return false;
}

static int
path_read(struct arena *arena, const char *text, const char *file_name, struct reference *ret,
          struct error *e)
{
        size_t len = strlen(text);
        char *path = arena_alloc(arena, len + 1);

        if (!path)
                return fail(e, ERROR_NO_MEMORY, "no memory for a reference");
        if (collapse(text, path) < 0)
                return refuse(e, "outside_workspace",
                              "this reference leaves the workspace it starts in");
        if (path[0] == '\0' || text[len - 1] == '/')
                return invalid(e);
        if (file_name && !is_called(path, file_name)) {
                (void)fail_at(e, ERROR_REF_UNRESOLVABLE, NULL, "wrong_kind",
                              "the target must be called %s or NAME.%s", file_name, file_name);
                return -1;
        }
        ret->path = path;
        return 0;
}

int
reference_read(struct arena *arena, const char *text, const char *file_name, struct reference *ret,
               struct error *e)
{
        struct reference read = { .kind = REFERENCE_PATH };
        int result;

        if (strlen(text) > TEXT_MAX || has_control(text))
                return invalid(e);
        if (text[0] == '@') {
                result = slug_read(arena, text, &read, e);
        } else if (strncmp(text, "./", 2) == 0) {
                result = path_read(arena, text + 2, file_name, &read, e);
        } else if (strncmp(text, "../", 3) == 0) {
                text = sibling_take(arena, text, &read, e);
                result = text ? path_read(arena, text, file_name, &read, e) : -1;
        } else {
                return invalid(e);
        }
        if (result == 0)
                *ret = read;
        return result;
}
