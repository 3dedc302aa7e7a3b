/*
 * policy/host_layers.c - joins the machine's host file and a user's own.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows which fields are joined. Knows nothing of what they mean or where the files lie.
 * Theory: only the machine's file may restrict, so a user's file can only permit, and joining never
 * has to choose between two bounds. The result is a tree like any host file's, so the reader of
 * rules needs no knowledge of layers.
 */
#include "policy/host_layers.h"

#include <string.h>

#include "policy/host_fields.h"
#include "policy/host_rules.h"
#include "spec/provider.h"

struct joining {
        struct arena *arena;
        struct node *root;
        const struct node **end; /* where the next member is added */
        struct error *e;
};

static int
out_of_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
}

/* A user's file may switch rules on, not off. */
static int
check_redact(const struct node *redact, struct error *e)
{
        if (!redact || redact->kind != NODE_MAP)
                return 0; /* host_rules_read() has an error for another kind */
        node_each(group, redact)
        {
                if (group->kind != NODE_BOOL || group->boolean)
                        continue;
                (void)fail_at(e, ERROR_SCHEMA_INVALID, "redact", "machine_only",
                              "redact/%.40s: a user's own host file cannot switch rules off",
                              group->key);
                error_hint(e, "Write it to /etc/carrel/host.yaml, or use this file alone with "
                              "--host FILE.");
                e->line = group->key_line;
                e->column = group->key_column;
                return -1;
        }
        return 0;
}

int
host_layer_check_users(const struct node *root, struct error *e)
{
        node_each(member, root)
        {
                enum host_field field = host_field_find(member->key);

                if (field == HOST_FIELD_MAX || host_field_is_users(field))
                        continue;
                (void)fail_at(e, ERROR_SCHEMA_INVALID, member->key, "machine_only",
                              "%s: a user's own host file cannot have this field", member->key);
                error_hint(e, "Write it to /etc/carrel/host.yaml, or use this file alone with "
                              "--host FILE.");
                e->line = member->key_line;
                e->column = member->key_column;
                return -1;
        }
        return check_redact(node_find(root, "redact"), e);
}

/* Adds a copy of `n` under `key` as the last member and returns it. */
static struct node *
add_member(struct joining *j, const char *key, const struct node *n)
{
        struct node *copy = arena_new(j->arena, struct node);

        if (!copy)
                return out_of_memory(j->e), NULL;
        *copy = *n;
        copy->key = key;
        copy->next = NULL;
        *j->end = copy;
        j->end = &copy->next;
        j->root->len++;
        return copy;
}

/* Copies the children of `n` to *end. */
static int
add_children(struct joining *j, struct node *to, const struct node ***end, const struct node *n)
{
        node_each(child, n)
        {
                struct node *copy = arena_new(j->arena, struct node);

                if (!copy)
                        return out_of_memory(j->e);
                *copy = *child;
                copy->next = NULL;
                **end = copy;
                *end = &copy->next;
                to->len++;
        }
        return 0;
}

/* -- the built-in rules ------------------------------------------------------------------------ */

static int
add_own(struct joining *j)
{
        static const struct node isolated = {
                .kind = NODE_BOOL, .text = "true", .len = 4, .boolean = true, .key = "isolated"
        };
        struct node *list = arena_new(j->arena, struct node);
        const struct node **end = list ? &list->first : NULL;

        if (!list)
                return out_of_memory(j->e);
        *list = (struct node){ .kind = NODE_MAP };
        for (size_t i = 0; i < provider_count; i++) {
                /* one with an interpreter of its own only runs where a host file names it */
                bool is_own = providers[i].runs_once && !providers[i].interpreter;
                struct node *own = is_own ? arena_new(j->arena, struct node) : NULL;

                if (!is_own)
                        continue;
                if (!own)
                        return out_of_memory(j->e);
                *own = (struct node){
                        .kind = NODE_MAP, .first = &isolated, .len = 1, .key = providers[i].id
                };
                *end = own;
                end = &own->next;
                list->len++;
        }
        return add_member(j, "providers", list) ? 0 : -1;
}

static int
add_tool_roots(struct joining *j, const struct node *machine, const struct node *users)
{
        static const struct node none = { .kind = NODE_LIST };
        struct node *list = add_member(j, "tool_roots", &none);
        const struct node **end;

        if (!list)
                return -1;
        end = &list->first;
        for (size_t i = 0; i < host_tool_roots.count; i++) {
                const struct node item = { .kind = NODE_STRING,
                                           .text = host_tool_roots.items[i],
                                           .len = strlen(host_tool_roots.items[i]) };

                if (add_children(j, list, &end,
                                 &(struct node){ .kind = NODE_LIST, .first = &item, .len = 1 }) < 0)
                        return -1;
        }
        return (machine && add_children(j, list, &end, machine) < 0) ||
                               (users && add_children(j, list, &end, users) < 0)
                       ? -1
                       : 0;
}

/* -- both -------------------------------------------------------------------------------------- */

static int
said_twice(struct joining *j, const struct node *n)
{
        (void)fail_at(j->e, ERROR_SCHEMA_INVALID, n->key, "duplicate",
                      "%s: /etc/carrel/host.yaml has this too", n->key);
        error_hint(j->e, "Remove one of the two.");
        j->e->line = n->key_line;
        j->e->column = n->key_column;
        return -1;
}

static int
join_member(struct joining *j, const struct node *mine, const struct node *theirs)
{
        struct node *both;
        const struct node **end;

        if (theirs->kind == NODE_MAP)
                node_each(member,
                          theirs) if (node_find(mine, member->key)) return said_twice(j, member);
        if (theirs->kind != mine->kind || (mine->kind != NODE_MAP && mine->kind != NODE_LIST))
                return said_twice(j, theirs);
        both = add_member(j, mine->key, mine);
        if (!both)
                return -1;
        both->first = NULL;
        both->len = 0;
        end = &both->first;
        return add_children(j, both, &end, mine) < 0 || add_children(j, both, &end, theirs) < 0 ? -1
                                                                                                : 0;
}

/* What a user's file switches on stays on, whatever the machine's says of it. */
static int
join_redact(struct joining *j, const struct node *mine, const struct node *theirs)
{
        struct node *both;
        const struct node **end;

        if (mine->kind != NODE_MAP || theirs->kind != NODE_MAP)
                return said_twice(j, theirs);
        both = add_member(j, mine->key, theirs);
        if (!both)
                return -1;
        both->first = NULL;
        both->len = 0;
        end = &both->first;
        node_each(group, mine)
        {
                struct node alone = *group;
                const struct node one = { .kind = NODE_MAP, .first = &alone, .len = 1 };

                if (node_find(theirs, group->key))
                        continue;
                alone.next = NULL;
                if (add_children(j, both, &end, &one) < 0)
                        return -1;
        }
        return add_children(j, both, &end, theirs);
}

static int
join(struct joining *j, const struct node *machine, const struct node *users)
{
        if (!node_find(machine, "providers") && add_own(j) < 0)
                return -1;
        if (add_tool_roots(j, node_find(machine, "tool_roots"), node_find(users, "tool_roots")) < 0)
                return -1;
        for (int i = 0; i < HOST_FIELD_MAX; i++) {
                const char *name = host_field_row((enum host_field)i)->name;
                const struct node *mine = node_find(machine, name),
                                  *theirs = node_find(users, name);

                if (i == HOST_FIELD_tool_roots || (!mine && !theirs))
                        continue;
                if (!mine || !theirs         ? !add_member(j, name, mine ? mine : theirs)
                    : i == HOST_FIELD_redact ? join_redact(j, mine, theirs) < 0
                                             : join_member(j, mine, theirs) < 0)
                        return -1;
        }
        return 0;
}

int
host_layers_join(struct arena *arena, const struct node *machine, const struct node *users,
                 const struct node **ret, struct error *e)
{
        struct joining j = { .arena = arena, .root = arena_new(arena, struct node), .e = e };

        if (!j.root)
                return out_of_memory(e);
        *j.root = (struct node){ .kind = NODE_MAP };
        j.end = &j.root->first;
        if (join(&j, machine, users) < 0)
                return -1;
        *ret = j.root;
        return 0;
}

int
host_layer_complete(struct arena *arena, const struct node *alone, const struct node **ret,
                    bool *ret_added, struct error *e)
{
        struct joining j = { .arena = arena, .root = arena_new(arena, struct node), .e = e };

        *ret_added = alone->kind == NODE_MAP && !node_find(alone, "providers");
        *ret = alone;
        if (!*ret_added)
                return 0;
        if (!j.root)
                return out_of_memory(e);
        *j.root = *alone;
        j.root->first = NULL;
        j.root->len = 0;
        j.end = &j.root->first;
        if (add_children(&j, j.root, &j.end, alone) < 0 || add_own(&j) < 0)
                return -1;
        *ret = j.root;
        return 0;
}
