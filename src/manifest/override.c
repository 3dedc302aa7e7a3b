/*
 * manifest/override.c - applies values for one run to the block before it is judged.
 *
 * Room: manifest (deciding, pure). Touches: mem.
 * Knows which fields may be overridden, and their two spellings. Knows nothing of their bounds.
 * Theory: trees are never changed. The nodes on the path from the root to a value are copied, with
 * their siblings; the rest is shared.
 */
#include "manifest/override.h"

#include <stdlib.h>
#include <string.h>

enum row_kind { ROW_NUMBER, ROW_TEXT, ROW_MOUNT };

static const struct row {
        const char *path, *camel;
        enum row_kind kind;
} rows[] = {
        { "limits/memory_mb", "memoryMb", ROW_NUMBER },
        { "metadata/carrel/limits/disk_mb", NULL, ROW_NUMBER },
        { "metadata/carrel/limits/pids", NULL, ROW_NUMBER },
        { "network/egress", NULL, ROW_TEXT },
        { "mounts", NULL, ROW_MOUNT },
};

static const struct row *
find_row(const char *item, size_t len)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strlen(rows[i].path) == len && strncmp(rows[i].path, item, len) == 0)
                        return &rows[i];
        return NULL;
}

/* -- trees: each function gives NULL when memory is out ---------------------------------------- */

static struct node *
text_node(struct arena *arena, const char *key, const char *text)
{
        struct node *n = arena_new(arena, struct node);

        if (n && text)
                *n = (struct node){
                        .kind = NODE_STRING, .key = key, .text = text, .len = strlen(text)
                };
        return text ? n : NULL;
}

static struct node *
map_node(struct arena *arena, const char *key, struct node *first, struct node *second,
         struct node *third)
{
        struct node *n = arena_new(arena, struct node);

        if (!n || !first)
                return NULL;
        *n = (struct node){ .kind = NODE_MAP,
                            .key = key,
                            .first = first,
                            .len = 1u + (second != NULL) + (third != NULL) };
        first->next = second;
        if (second)
                second->next = third;
        return n;
}

static bool
is_named(const struct node *n, const char *key, size_t len)
{
        return n->key && key && strlen(n->key) == len && strncmp(n->key, key, len) == 0;
}

/*
 * A copy of `parent` (NULL: an empty one of this kind) without the members of that key and
 * spelling, and with `last` at its end.
 */
static struct node *
with_last(struct arena *arena, const struct node *parent, enum node_kind kind, const char *camel,
          struct node *last)
{
        struct node *copy = arena_new(arena, struct node);
        const struct node **at;

        if (!copy || !last)
                return NULL;
        *copy = parent ? *parent : (struct node){ .kind = kind };
        copy->next = NULL;
        copy->len = 1;
        at = &copy->first;
        for (const struct node *child = parent ? parent->first : NULL; child; child = child->next) {
                struct node *same;

                if (kind == NODE_MAP && (is_named(child, last->key, strlen(last->key)) ||
                                         (camel && is_named(child, camel, strlen(camel)))))
                        continue;
                same = arena_new(arena, struct node);
                if (!same)
                        return NULL;
                *same = *child;
                *at = same;
                at = &same->next;
                copy->len++;
        }
        last->next = NULL;
        *at = last;
        return copy;
}

/*
 * `parent` with `value` at the end of `path`. A node on the path that is not a map stays unchanged:
 * it is an error that is reported later.
 */
static struct node *
with_value(struct arena *arena, const struct node *parent, const char *path, const char *camel,
           struct node *value)
{
        size_t len = strcspn(path, "/");
        const char *key = arena_copy(arena, path, len);
        const struct node *member = parent ? node_find(parent, key ? key : "") : NULL;
        struct node *inner = value;

        if (!key || !value)
                return NULL;
        if (path[len] == '/' && member && member->kind != NODE_MAP) {
                inner = arena_new(arena, struct node);
                if (inner)
                        *inner = *member;
        } else if (path[len] == '/') {
                inner = with_value(arena, member, path + len + 1, camel, value);
        }
        if (!inner)
                return NULL;
        inner->key = key;
        if (member && path[len] == '/') {
                inner->key_line = member->key_line;
                inner->key_column = member->key_column;
        }
        return with_last(arena, parent, NODE_MAP, path[len] == '/' ? NULL : camel, inner);
}

static const struct node *
find_value(const struct node *block, const struct row *row)
{
        char key[64];
        const struct node *n = block;
        const char *path = row->path;

        while (n) {
                size_t len = strcspn(path, "/");
                const struct node *member;

                (void)memcpy(key, path, len < sizeof key ? len : sizeof key - 1);
                key[len < sizeof key ? len : sizeof key - 1] = '\0';
                member = node_find(n, key);
                if (path[len] == '\0')
                        return member ? member : row->camel ? node_find(n, row->camel) : NULL;
                n = member && member->kind == NODE_MAP ? member : NULL;
                path += len + 1;
        }
        return NULL;
}

/* -- values ------------------------------------------------------------------------------------ */

static int
wrong(const struct row *row, const char *text, const char *allowed, struct error *e)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, row->path, "value", "\"%.100s\" is not %s", text,
                      allowed);
        return -1;
}

static int
number_value(struct arena *arena, const struct node *written, const struct row *row,
             const char *text, struct node **ret, struct error *e)
{
        size_t digits = strspn(text, "0123456789");
        int64_t number = digits > 0 && digits < 17 ? strtoll(text, NULL, 10) : -1;

        if (number < 0 || text[digits] != '\0')
                return wrong(row, text, "a number", e);
        if (written && written->kind == NODE_INT && number > written->integer) {
                (void)fail_at(e, ERROR_POLICY_DENIED, row->path, "manifest",
                              "%s is above the %lld that the manifest permits", text,
                              (long long)written->integer);
                error_hint(e, "Ask for %lld or less, or raise %s in SANDBOX.md.",
                           (long long)written->integer, strrchr(row->path, '/') + 1);
                return -1;
        }
        *ret = arena_new(arena, struct node);
        if (*ret)
                **ret = (struct node){ .kind = NODE_INT,
                                       .text = text,
                                       .len = digits,
                                       .integer = number,
                                       .real = (double)number };
        return 0;
}

/* The part before the colon: a directory, or the name of a volume. */
static struct node *
storage_node(struct arena *arena, const char *text, size_t len)
{
        size_t skipped = text[0] == '.' ? 2 : 0;
        bool is_directory = text[0] == '/' || skipped > 0;
        const char *named = len == skipped ? "." : arena_copy(arena, text + skipped, len - skipped);
        struct node *config =
                map_node(arena, "config", text_node(arena, is_directory ? "path" : "name", named),
                         NULL, NULL);

        return config ? map_node(arena, "inline",
                                 text_node(arena, "provider",
                                           is_directory ? "local-fs" : "carrel-volume"),
                                 config, NULL)
                      : NULL;
}

/* The shape of a volume's name; one other place checks it fully later. */
static bool
is_volume(const char *text, size_t len)
{
        return len > 0 &&
               strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") >=
                       len &&
               text[0] != '.';
}

static int
mount_value(struct arena *arena, const struct row *row, const char *text, struct node **ret,
            struct error *e)
{
        static const char allowed[] = "VOLUME:PATH or DIR:PATH, with :ro for read-only, where DIR "
                                      "begins with / or ./ and PATH with /";
        size_t dir = strcspn(text, ":"), len = strlen(text);
        const char *at = text + dir + 1, *mode = "read-write";
        struct node *storage, *source;

        if (len > dir + 4 &&
            (strcmp(text + len - 3, ":ro") == 0 || strcmp(text + len - 3, ":rw") == 0)) {
                mode = text[len - 1] == 'o' ? "read-only" : mode;
                len -= 3;
        }
        if (dir >= len ||
            (text[0] != '/' && strncmp(text, "./", 2) != 0 && !is_volume(text, dir)) ||
            *at != '/' || memchr(at, ':', len - dir - 1)) {
                (void)wrong(row, text, allowed, e);
                error_hint(e, "Name a volume, as npm-cache:/home/agent/.npm, or a directory, as "
                              "./data:/data:ro");
                return -1;
        }
        storage = storage_node(arena, text, dir);
        source = map_node(arena, "source", storage, NULL, NULL);
        *ret = !storage ? NULL
                        : map_node(arena, NULL, source,
                                   text_node(arena, "at", arena_copy(arena, at, len - dir - 1)),
                                   text_node(arena, "mode", mode));
        return 0;
}

/* The block with one more value. */
static int
lay_over(struct arena *arena, const struct node **block, const char *item, struct error *e)
{
        size_t len = strcspn(item, "=");
        const struct row *row = item[len] == '=' ? find_row(item, len) : NULL;
        const char *text = item + len + 1;
        const struct node *written;
        struct node *value = NULL, *changed;
        int result = 0;

        if (!row)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "overrides", "path",
                               "\"%.100s\" is not a field that can be set for one run", item);
        written = find_value(*block, row);
        if (row->kind == ROW_NUMBER)
                result = number_value(arena, written, row, text, &value, e);
        else if (row->kind == ROW_MOUNT)
                result = mount_value(arena, row, text, &value, e);
        else
                value = text_node(arena, NULL, text);
        if (result < 0)
                return -1;
        if (row->kind != ROW_NUMBER && written && written->kind != NODE_LIST)
                return 0; /* not a list: reported later at its place in the manifest */
        if (row->kind != ROW_NUMBER)
                value = with_last(arena, written, NODE_LIST, NULL, value);
        changed = with_value(arena, *block, row->path, row->camel, value);
        if (!changed)
                return fail(e, ERROR_NO_MEMORY, "no memory for a manifest");
        *block = changed;
        return 0;
}

/* The block, also within the document. */
static int
put_block(struct arena *arena, struct manifest *m, const struct node *block, struct error *e)
{
        struct node *root = arena_new(arena, struct node);

        if (root)
                *root = *block;
        if (root && m->block_path[0] != '\0')
                root = with_value(arena, m->root, m->block_path, NULL, root);
        if (!root)
                return fail(e, ERROR_NO_MEMORY, "no memory for a manifest");
        m->block = block;
        m->root = root;
        return 0;
}

int
manifest_replace(struct arena *arena, struct manifest *m, const char *path,
                 const struct node *value, struct error *e)
{
        struct node *copy = arena_new(arena, struct node);
        const struct node *block = NULL;

        if (copy) {
                *copy = *value;
                block = with_value(arena, m->block, path, NULL, copy);
        }
        if (!block)
                return fail(e, ERROR_NO_MEMORY, "no memory for a manifest");
        return put_block(arena, m, block, e);
}

int
manifest_override(struct arena *arena, struct manifest *m, const char *const *items, size_t count,
                  struct error *e)
{
        const struct node *block = m->block;

        if (count > MANIFEST_OVERRIDES_MAX)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "overrides", "count",
                               "more than %d values are set for one run", MANIFEST_OVERRIDES_MAX);
        if (count == 0 || !block || block->kind != NODE_MAP)
                return 0;
        for (size_t i = 0; i < count; i++)
                if (lay_over(arena, &block, items[i], e) < 0)
                        return -1;
        return put_block(arena, m, block, e);
}
