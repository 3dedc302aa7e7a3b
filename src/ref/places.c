/*
 * ref/places.c - where references lead on this host.
 *
 * Room: ref (acting). Touches: fd.
 * Knows the host file's siblings and registry. Knows nothing of what the files mean.
 * Theory: one function for each kind of target; a sibling is asked for its permission before it is
 * looked into.
 */
#include "ref/places.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/scoped.h"
#include "ref/file.h"

/* How a case says that a path is a symbolic link that leads out. */
static const char escape_mark[] = "!symlink-escape";

static int
unresolvable(struct error *e, const char *reason, const char *name, const char *what)
{
        return fail_at(e, ERROR_REF_UNRESOLVABLE, "", reason, "\"%.200s\": %s", name, what);
}

/* What the file reader says, in the words of a reference. */
static int
as_reference(struct error *e)
{
        struct error inner = *e;
        const char *reason = "not_found";

        if (inner.code != ERROR_FILE_UNREADABLE)
                return -1;
        if (strcmp(inner.reason, "not_regular") == 0)
                reason = "wrong_kind";
        else if (strcmp(inner.reason, "permission") == 0)
                reason = "acl_denied";
        return fail_at(e, ERROR_REF_UNRESOLVABLE, "", reason, "%s", inner.message);
}

static int
read_map(struct arena *arena, const struct node *files, const char *path, const char **ret_bytes,
         size_t *ret_len, struct error *e)
{
        const char *key = arena_format(arena, "./%s", path);
        const struct node *n = key ? node_find(files, key) : NULL;

        if (!n || n->kind != NODE_STRING)
                return unresolvable(e, "not_found", path, "there is no such file");
        if (strcmp(n->text, escape_mark) == 0)
                return unresolvable(e, "outside_workspace", path,
                                    "a symbolic link leads out of the workspace");
        *ret_bytes = n->text;
        *ret_len = n->len;
        return 0;
}

static int
read_below(struct ref_places *p, struct arena *arena, int dir, const char *path,
           const char **ret_bytes, size_t *ret_len, struct error *e)
{
        return ref_file_read_beneath(arena, dir, path, REF_FILE_MAX, p->reads, ret_bytes, ret_len,
                                     e) < 0
                       ? as_reference(e)
                       : 0;
}

static int
read_path(struct ref_places *p, struct arena *arena, const struct reference *t,
          const char **ret_bytes, size_t *ret_len, struct error *e)
{
        if (p->workspace < 0)
                return read_map(arena, node_find(p->host, "files"), t->path, ret_bytes, ret_len, e);
        return read_below(p, arena, p->workspace, t->path, ret_bytes, ret_len, e);
}

static int
read_sibling(struct ref_places *p, struct arena *arena, const struct reference *t,
             const char **ret_bytes, size_t *ret_len, struct error *e)
{
        const struct node *sibling = node_find(node_find(p->host, "siblings"), t->sibling);
        const struct node *acl = node_find(sibling, "acl");
        const struct node *path = node_find(sibling, "path");
        scoped_fd int dir = -1;

        if (!sibling)
                return unresolvable(e, "not_found", t->sibling,
                                    "this host knows no workspace of that name");
        if (!acl || acl->kind != NODE_BOOL || !acl->boolean)
                return unresolvable(e, "acl_denied", t->sibling,
                                    "that workspace does not permit to be read from here");
        if (p->workspace < 0)
                return read_map(arena, node_find(sibling, "files"), t->path, ret_bytes, ret_len, e);
        if (!path || path->kind != NODE_STRING || path->text[0] != '/')
                return unresolvable(e, "not_found", t->sibling,
                                    "the host file gives no directory (path) for that workspace");
        dir = open(path->text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return unresolvable(e, "not_found", t->sibling,
                                    "the directory of that workspace cannot be opened");
        return read_below(p, arena, dir, t->path, ret_bytes, ret_len, e);
}

static int
read_slug(struct ref_places *p, struct arena *arena, const struct reference *t,
          const char **ret_bytes, size_t *ret_len, struct error *e)
{
        const char *id = arena_format(arena, "@%s/%s", t->owner, t->slug);
        const struct node *entry = id ? node_find(node_find(p->host, "registry"), id) : NULL;
        const struct node *file = node_find(entry, "file");

        if (!id)
                return fail(e, ERROR_NO_MEMORY, "no memory for a reference");
        if (!entry && node_find(node_find(p->host, "mountables"), id))
                return unresolvable(e, "wrong_kind", id,
                                    "this names a workspace or a storage, not a sandbox");
        if (!entry)
                return unresolvable(e, "not_found", id,
                                    "the registry of this host has no such entry");
        if (entry->kind == NODE_STRING) {
                *ret_bytes = entry->text;
                *ret_len = entry->len;
                return 0;
        }
        if (p->workspace < 0 || !file || file->kind != NODE_STRING || file->text[0] != '/')
                return unresolvable(e, "not_found", id,
                                    "a registry entry is a text, or {file: absolute path}");
        return ref_file_read(arena, file->text, REF_FILE_MAX, p->reads, ret_bytes, ret_len, e) < 0
                       ? as_reference(e)
                       : 0;
}

static int
places_read(void *ctx, struct arena *arena, const struct reference *target, const char **ret_bytes,
            size_t *ret_len, struct error *e)
{
        static int (*const readers[])(struct ref_places * p, struct arena * arena,
                                      const struct reference *t, const char **ret_bytes,
                                      size_t *ret_len, struct error *e) = {
                [REFERENCE_PATH] = read_path,
                [REFERENCE_SIBLING] = read_sibling,
                [REFERENCE_SLUG] = read_slug,
        };

        return readers[target->kind](ctx, arena, target, ret_bytes, ret_len, e);
}

struct ref_reader
ref_places_reader(struct ref_places *places)
{
        return (struct ref_reader){ .read = places_read, .ctx = places };
}
