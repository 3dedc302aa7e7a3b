/*
 * policy/host_secret.c - which user may have a secret bound, and where values come from.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows slugs, grants and the syntax of sources. Holds no value and asks no source.
 */
#include "policy/host_secret.h"

#include <stdio.h>
#include <string.h>

/* -- slugs ------------------------------------------------------------------------------------- */

/* One part of a slug: [a-z][a-z0-9-]*[a-z0-9] */
static bool
part_check(const char *text, size_t len)
{
        if (len < 2 || text[0] < 'a' || text[0] > 'z' || text[len - 1] == '-')
                return false;
        for (size_t i = 0; i < len; i++)
                if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
                      text[i] == '-'))
                        return false;
        return true;
}

bool
host_slug_check(const char *text)
{
        const char *slash = strchr(text, '/');
        size_t len = strlen(text);

        if (len < 2 || len > 80)
                return false;
        if (!slash)
                return part_check(text, len);
        return part_check(text, (size_t)(slash - text)) && part_check(slash + 1, strlen(slash + 1));
}

static bool
has_word(const struct spec_names *names, const char *text)
{
        for (size_t i = 0; i < names->count; i++)
                if (strcmp(names->items[i], text) == 0)
                        return true;
        return false;
}

/* -- grants ------------------------------------------------------------------------------------ */

const char *
host_grant_word(enum host_grant_kind kind)
{
        static const char *const words[HOST_GRANT_MAX] = { "role", "userId", "cap", "tool",
                                                           "workflow" };

        return words[kind];
}

static const struct host_actor *
find_actor(const struct host_asking *asking)
{
        for (size_t i = 0; i < asking->actor_count; i++)
                if (strcmp(asking->actors[i].user, asking->user) == 0)
                        return &asking->actors[i];
        return NULL;
}

static bool
matches(const struct host_grant *grant, const struct host_asking *asking)
{
        const struct host_actor *actor = find_actor(asking);

        if (grant->kind == HOST_GRANT_USER)
                return strcmp(grant->value, asking->user) == 0;
        return actor && has_word(&actor->has[grant->kind], grant->value);
}

bool
host_secret_granted(const struct host_inventory *inventory, const char *slug,
                    const struct host_asking *asking, const struct host_grant **ret)
{
        *ret = NULL;
        if (!has_word(&inventory->restricted, slug))
                return asking->is_owner;
        for (size_t i = 0; i < inventory->grant_count; i++)
                if (strcmp(inventory->grants[i].slug, slug) == 0 &&
                    matches(&inventory->grants[i], asking)) {
                        *ret = &inventory->grants[i];
                        return true;
                }
        return false;
}

/* -- reading ----------------------------------------------------------------------------------- */

static int
wrong(const struct node *n, const char *path, const char *reason, const char *message,
      struct error *e)
{
        (void)fail_at(e, ERROR_SCHEMA_INVALID, path, reason, "%s: %s", path, message);
        e->line = n->line;
        e->column = n->column;
        error_hint(e, "Correct the host file.");
        return -1;
}

static int
out_of_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
}

static int
read_words(struct arena *arena, const struct node *n, size_t most, const char *path,
           struct spec_names *ret, struct error *e)
{
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len == 0 || n->len > most)
                return wrong(n, path, "type", "this is a list of words", e);
        items = arena_array(arena, const char *, n->len + 1);
        if (!items)
                return out_of_memory(e);
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0)
                        return wrong(item, path, "type", "each entry is a word", e);
                items[count++] = item->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_actor(struct arena *arena, const struct node *n, struct host_actor *ret, struct error *e)
{
        static const struct {
                const char *name;
                enum host_grant_kind kind;
        } rows[] = {
                { "roles", HOST_GRANT_ROLE },
                { "caps", HOST_GRANT_CAP },
                { "tools", HOST_GRANT_TOOL },
                { "workflows", HOST_GRANT_WORKFLOW },
        };

        *ret = (struct host_actor){ .user = n->key };
        if (n->kind != NODE_MAP)
                return wrong(n, "actors", "type",
                             "what an actor has is a map of lists: roles, caps, tools, workflows",
                             e);
        node_each(member, n)
        {
                size_t i = 0;

                while (i < sizeof rows / sizeof *rows && strcmp(rows[i].name, member->key) != 0)
                        i++;
                if (i == sizeof rows / sizeof *rows)
                        return wrong(member, "actors", "unknown_field",
                                     "an actor has roles, caps, tools and workflows", e);
                if (read_words(arena, member, HOST_SECRETS_MAX, "actors", &ret->has[rows[i].kind],
                               e) < 0)
                        return -1;
        }
        return 0;
}

int
host_actors_read(struct arena *arena, const struct node *n, const struct host_actor **ret,
                 size_t *ret_count, struct error *e)
{
        struct host_actor *actors;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return wrong(n, "actors", "type", "expected a map from users to their permissions",
                             e);
        actors = arena_array(arena, struct host_actor, n->len + 1);
        if (!actors)
                return out_of_memory(e);
        node_each(member, n) if (read_actor(arena, member, &actors[count++], e) < 0) return -1;
        *ret = actors;
        *ret_count = count;
        return 0;
}

/* -- sources ----------------------------------------------------------------------------------- */

struct reading {
        struct arena *arena;
        struct host_source *source;
        const char *path;
        struct error *e;
};

static int
read_file(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING || n->text[0] != '/')
                return wrong(n, r->path, "type", "file is an absolute path", r->e);
        r->source->kind = HOST_SOURCE_FILE;
        r->source->path = n->text;
        return 0;
}

static int
read_directory(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING ||
            (n->text[0] != '/' && strcmp(n->text, "$CREDENTIALS_DIRECTORY") != 0))
                return wrong(n, r->path, "type",
                             "directory is an absolute path, or $CREDENTIALS_DIRECTORY", r->e);
        r->source->kind = HOST_SOURCE_DIRECTORY;
        r->source->path = n->text;
        return 0;
}

static bool
is_variable(const char *text)
{
        size_t len =
                strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

        return len > 0 && text[len] == '\0' && (text[0] < '0' || text[0] > '9');
}

static int
read_environment(struct reading *r, const struct node *n)
{
        struct host_binding *rows =
                n->kind == NODE_MAP ? arena_array(r->arena, struct host_binding, n->len + 1) : NULL;

        if (n->kind != NODE_MAP || n->len == 0 || n->len > HOST_SECRETS_MAX)
                return wrong(n, r->path, "type",
                             "environment is a map from slugs to names of variables", r->e);
        if (!rows)
                return out_of_memory(r->e);
        node_each(member, n)
        {
                if (!host_slug_check(member->key) || member->kind != NODE_STRING ||
                    !is_variable(member->text))
                        return wrong(member, r->path, "pattern",
                                     "environment is a map from slugs to names of variables", r->e);
                rows[r->source->variable_count++] =
                        (struct host_binding){ member->text, member->key };
        }
        r->source->kind = HOST_SOURCE_ENVIRONMENT;
        r->source->variables = rows;
        return 0;
}

static int
read_command(struct reading *r, const struct node *n)
{
        if (read_words(r->arena, n, HOST_COMMAND_WORDS_MAX, r->path, &r->source->argv, r->e) < 0)
                return -1;
        if (r->source->argv.items[0][0] != '/')
                return wrong(n, r->path, "pattern",
                             "a command begins with the absolute path of a program; no shell looks "
                             "for it",
                             r->e);
        r->source->kind = HOST_SOURCE_COMMAND;
        return 0;
}

static int
read_slugs(struct reading *r, const struct node *n)
{
        if (read_words(r->arena, n, HOST_SECRETS_MAX, r->path, &r->source->slugs, r->e) < 0)
                return -1;
        for (size_t i = 0; i < r->source->slugs.count; i++)
                if (!host_slug_check(r->source->slugs.items[i]))
                        return wrong(n, r->path, "pattern", "slugs is a list of slugs", r->e);
        return 0;
}

static int
read_timeout(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_INT || n->integer < 1 || n->integer > HOST_COMMAND_TIMEOUT_MAX_MS)
                return wrong(n, r->path, "range", "timeout_ms is a number from 1 to 60000", r->e);
        r->source->timeout_ms = (uint64_t)n->integer;
        return 0;
}

static const struct {
        const char *name;
        bool is_kind;
        int (*read)(struct reading *r, const struct node *n);
} members[] = {
        { "file", true, read_file },           { "environment", true, read_environment },
        { "directory", true, read_directory }, { "command", true, read_command },
        { "slugs", false, read_slugs },        { "timeout_ms", false, read_timeout },
};

static int
read_source(struct reading *r, const struct node *n)
{
        size_t kinds = 0;

        r->source->timeout_ms = HOST_COMMAND_TIMEOUT_MS;
        if (n->kind != NODE_MAP)
                return wrong(n, r->path, "type", "a source is a map", r->e);
        node_each(member, n)
        {
                size_t i = 0;

                while (i < sizeof members / sizeof *members &&
                       strcmp(members[i].name, member->key) != 0)
                        i++;
                if (i == sizeof members / sizeof *members)
                        return wrong(member, r->path, "unknown_field",
                                     "a source has file, environment, directory or command, and "
                                     "slugs, timeout_ms",
                                     r->e);
                kinds += members[i].is_kind;
                if (members[i].read(r, member) < 0)
                        return -1;
        }
        return kinds == 1
                       ? 0
                       : wrong(n, r->path, "form",
                               "a source has exactly one of file, environment, directory, command",
                               r->e);
}

int
host_sources_read(struct arena *arena, const struct node *n, struct host_sources *ret,
                  struct error *e)
{
        struct host_source *items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > HOST_SOURCES_MAX)
                return wrong(n, "secret_sources", "type", "this is a list of at most 32 sources",
                             e);
        items = arena_array(arena, struct host_source, n->len + 1);
        if (!items)
                return out_of_memory(e);
        node_each(item, n)
        {
                struct reading r = { arena, &items[count],
                                     arena_format(arena, "secret_sources/%zu", count), e };

                if (!r.path)
                        return out_of_memory(e);
                if (read_source(&r, item) < 0)
                        return -1;
                count++;
        }
        *ret = (struct host_sources){ items, count };
        return 0;
}

bool
host_sources_have_variable(const struct host_sources *sources, const char *name)
{
        for (size_t i = 0; i < sources->count; i++)
                for (size_t v = 0; v < sources->items[i].variable_count; v++)
                        if (strcmp(sources->items[i].variables[v].name, name) == 0)
                                return true;
        return false;
}
