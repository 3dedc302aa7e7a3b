/*
 * prepare/runtime.c - templates: which interpreter a name selects.
 *
 * Room: prepare (joining). Touches: mem.
 * Knows names and versions. Knows nothing of where programs lie: that is interpreters.c.
 */
#include "prepare/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 63, LIST_MAX = 220 };

static const struct runtime_family families[] = {
        /* name      parts  says its version with  is called */
        { "python", 2, "--version", { "python3", "python" } },
        { "pypy", 2, "--version", { "pypy3", "pypy" } },
        { "node", 1, "--version", { "node", "nodejs" } },
        { "deno", 1, "--version", { "deno" } },
        { "bun", 1, "--version", { "bun" } },
        { "ruby", 2, "--version", { "ruby" } },
        { "perl", 2, "-V:version", { "perl" } },
        { "php", 2, "--version", { "php" } },
        { "lua", 2, "-v", { "lua" } },
        { "luajit", 2, "-v", { "luajit" } },
        { "bash", 2, "--version", { "bash" } },
        { "zsh", 2, "--version", { "zsh" } },
        { "fish", 2, "--version", { "fish" } },
        { "java", 1, "--version", { "java" } },
        { "julia", 2, "--version", { "julia" } },
        { "guile", 2, "--version", { "guile" } },
};

const struct runtime_family *
runtime_family_at(size_t index)
{
        return index < sizeof families / sizeof *families ? &families[index] : NULL;
}

const struct runtime_family *
runtime_family_find(const char *name, size_t len)
{
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
                if (strlen(families[i].name) == len && strncmp(families[i].name, name, len) == 0)
                        return &families[i];
                for (size_t c = 0; c < RUNTIME_COMMANDS_MAX && families[i].commands[c]; c++)
                        if (strlen(families[i].commands[c]) == len &&
                            strncmp(families[i].commands[c], name, len) == 0)
                                return &families[i];
        }
        return NULL;
}

/*
 * The version in a name: the part after the letters. "" if missing; NULL if it contains anything
 * but digits and points.
 */
static const char *
version_of(const char *name)
{
        const char *version = name + strcspn(name, "0123456789");

        return strspn(version, "0123456789.") == strlen(version) ? version : NULL;
}

int
runtime_version_compare(const char *left, const char *right)
{
        while (*left != '\0' || *right != '\0') {
                char *left_end = (char *)(uintptr_t)left, *right_end = (char *)(uintptr_t)right;
                unsigned long l = *left != '\0' ? strtoul(left, &left_end, 10) : 0;
                unsigned long r = *right != '\0' ? strtoul(right, &right_end, 10) : 0;

                if (l != r)
                        return l < r ? -1 : 1;
                left = *left_end == '.' ? left_end + 1 : left_end + strlen(left_end);
                right = *right_end == '.' ? right_end + 1 : right_end + strlen(right_end);
        }
        return 0;
}

/* Is `asked` a version prefix? "3" and "3.13" are prefixes of "3.13.1"; "3.1" is not. */
static bool
is_beginning(const char *asked, const char *version)
{
        size_t len = strlen(asked);

        while (len > 0 && asked[len - 1] == '.')
                len--;
        return strncmp(asked, version, len) == 0 &&
               (len == 0 || version[len] == '\0' || version[len] == '.');
}

/* "python3.13, python3.11, node24", as many as fit. */
static void
write_list(const struct runtimes *all, char text[LIST_MAX])
{
        size_t used = 0;

        text[0] = '\0';
        for (size_t i = 0; i < all->count; i++) {
                char name[NAME_MAX_LEN + 1];
                int len;

                (void)runtime_name_write(&all->items[i], name, sizeof name);
                len = snprintf(text + used, LIST_MAX - used, "%s%s", used > 0 ? ", " : "", name);
                if (len < 0 || (size_t)len >= LIST_MAX - used) {
                        text[used] = '\0';
                        return;
                }
                used += (size_t)len;
        }
}

static int
refuse(const struct runtimes *all, const char *name, struct error *e)
{
        char list[LIST_MAX];

        write_list(all, list);
        (void)fail_at(e, ERROR_RUNTIME_UNKNOWN, "runtime", NULL,
                      "this host has no runtime \"%.64s\"", name);
        if (all->count > 0)
                error_hint(e, "It has %s.", list);
        else
                error_hint(e, "No interpreter was found on this host: leave the runtime out.");
        return -1;
}

int
runtime_find(const struct runtimes *all, const char *name, const struct runtime **ret,
             struct error *e)
{
        const char *version = strlen(name) <= NAME_MAX_LEN ? version_of(name) : NULL;
        const struct runtime_family *family =
                version ? runtime_family_find(name, (size_t)(version - name)) : NULL;

        for (size_t i = 0; family && i < all->count; i++)
                if (strcmp(all->items[i].family, family->name) == 0 &&
                    is_beginning(version, all->items[i].version)) {
                        *ret = &all->items[i];
                        return 0;
                }
        return refuse(all, name, e);
}

int
runtime_name_write(const struct runtime *runtime, char *out, size_t room)
{
        const struct runtime_family *family =
                runtime_family_find(runtime->family, strlen(runtime->family));
        const char *end = runtime->version;

        for (unsigned part = 0; family && part < family->parts; part++) {
                end += part > 0 && *end == '.';
                end += strspn(end, "0123456789");
        }
        return snprintf(out, room, "%s%.*s", runtime->family, (int)(end - runtime->version),
                        runtime->version);
}

const char *
runtime_name(struct arena *arena, const struct runtime *runtime)
{
        char name[NAME_MAX_LEN + 1];

        (void)runtime_name_write(runtime, name, sizeof name);
        return arena_text(arena, name);
}

/* -- as a tree --------------------------------------------------------------------------------- */

static struct node *
text_node(struct arena *arena, const char *key, const char *text)
{
        struct node *n = arena_new(arena, struct node);

        if (n)
                *n = (struct node){
                        .kind = NODE_STRING, .key = key, .text = text, .len = strlen(text)
                };
        return n;
}

static struct node *
runtime_node(struct arena *arena, const struct runtime *r)
{
        const char *keys[] = { "family", "version", "path", "prefix" };
        const char *values[] = { r->family, r->version, r->path, r->prefix ? r->prefix : "" };
        struct node *map = arena_new(arena, struct node);
        const struct node **end;

        if (!map)
                return NULL;
        *map = (struct node){ .kind = NODE_MAP, .len = sizeof keys / sizeof *keys };
        end = &map->first;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                struct node *member = text_node(arena, keys[i], values[i]);

                if (!member)
                        return NULL;
                *end = member;
                end = &member->next;
        }
        return map;
}

const struct node *
runtimes_write(struct arena *arena, const struct runtimes *all)
{
        struct node *list = arena_new(arena, struct node);
        const struct node **end;

        if (!list)
                return NULL;
        *list = (struct node){ .kind = NODE_LIST, .len = all ? all->count : 0 };
        end = &list->first;
        for (size_t i = 0; all && i < all->count; i++) {
                struct node *map = runtime_node(arena, &all->items[i]);

                if (!map)
                        return NULL;
                *end = map;
                end = &map->next;
        }
        return list;
}

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_STRING ? n->text : NULL;
}

int
runtimes_read(struct arena *arena, const struct node *list, struct runtimes *ret, struct error *e)
{
        struct runtime *items = list->kind == NODE_LIST && list->len <= RUNTIMES_MAX
                                        ? arena_array(arena, struct runtime, list->len + 1)
                                        : NULL;
        size_t count = 0;

        if (list->kind != NODE_LIST || list->len > RUNTIMES_MAX)
                return fail(e, ERROR_PROTOCOL, "a list of templates is malformed");
        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the templates");
        node_each(map, list)
        {
                const char *prefix = text_of(map, "prefix");
                struct runtime r = { text_of(map, "family"), text_of(map, "version"),
                                     text_of(map, "path"), prefix && *prefix ? prefix : NULL };

                if (!r.family || !r.version || !r.path ||
                    !runtime_family_find(r.family, strlen(r.family)) || r.path[0] != '/' ||
                    (r.prefix && r.prefix[0] != '/') ||
                    strspn(r.version, "0123456789.") != strlen(r.version))
                        return fail(e, ERROR_PROTOCOL, "a list of templates is malformed");
                items[count++] = r;
        }
        *ret = (struct runtimes){ items, count };
        return 0;
}
