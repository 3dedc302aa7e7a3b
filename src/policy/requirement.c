/*
 * policy/requirement.c - requirements of AIP-38 policies, as they are written.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Theory: what is not understood never holds (G1 of grant.c). A requirement that is understood
 * denies nothing: it makes operations wait, and says whose answer counts.
 */
#include "policy/requirement.h"

#include <string.h>

#include "spec/approve.h"

enum { NAMES_MAX = 16, NAME_LEN_MAX = 128 };

static const char *const members[] = { "kind", "principal",   "from",     "actions",
                                       "id",   "description", "metadata", NULL };

static bool
members_are_known(const struct node *n)
{
        node_each(member, n)
        {
                size_t i = 0;

                while (members[i] && strcmp(members[i], member->key) != 0)
                        i++;
                if (!members[i])
                        return false;
        }
        return true;
}

/* A name is shown to people and compared with owners: printable ASCII. */
static bool
is_name(const struct node *n)
{
        if (n->kind != NODE_STRING || n->len == 0 || n->len > NAME_LEN_MAX ||
            strcmp(n->text, "user://current") == 0)
                return false;
        for (size_t i = 0; i < n->len; i++)
                if (n->text[i] <= ' ' || n->text[i] > '~')
                        return false;
        return true;
}

/* A word, or a list of words that is not empty. */
static int
read_names(struct arena *arena, const struct node *n, struct spec_names *ret)
{
        size_t count = n->kind == NODE_LIST ? n->len : 1;
        const char **items;

        if (count == 0 || count > NAMES_MAX)
                return -1;
        items = arena_array(arena, const char *, count);
        if (!items)
                return -1;
        ret->items = items;
        ret->count = 0;
        if (n->kind != NODE_LIST)
                return is_name(n) ? (items[ret->count++] = n->text, 0) : -1;
        node_each(item, n)
        {
                if (!is_name(item))
                        return -1;
                items[ret->count++] = item->text;
        }
        return 0;
}

int
requirement_read(struct arena *arena, const struct node *n, struct spec_approval_from *ret)
{
        const struct node *parties = node_find(n, "principal"), *from = node_find(n, "from"),
                          *actions = node_find(n, "actions");

        *ret = (struct spec_approval_from){ .parties = { NULL, 0 } };
        if (n->kind != NODE_MAP || !node_is_text(node_find(n, "kind"), "approval-from") ||
            !members_are_known(n) || !parties == !from ||
            read_names(arena, parties ? parties : from, &ret->parties) < 0)
                return -1;
        return actions ? read_names(arena, actions, &ret->actions) : 0;
}

int
requirement_collect(struct arena *arena, const struct node *body, struct spec_approval_from *items,
                    size_t *count)
{
        const struct node *list = node_find(body, "requirements");
        struct spec_approval_from read;

        if (!list || list->kind != NODE_LIST)
                return 0;
        node_each(item, list)
        {
                if (requirement_read(arena, item, &read) < 0)
                        continue;
                if (*count == SPEC_APPROVAL_FROM_MAX)
                        return -1;
                items[(*count)++] = read;
        }
        return 0;
}

bool
requirement_may_be_in(const struct node *policy)
{
        const struct node *body = policy ? node_find(policy, "inline") : NULL;

        if (!policy)
                return false;
        if (!body)
                body = policy;
        return body->kind != NODE_MAP || node_find(body, "ref") || node_find(body, "file") ||
               node_find(body, "requirements");
}
