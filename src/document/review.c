/*
 * document/review.c - which changes of a document need a review at once.
 *
 * Room: document (deciding, pure). Touches: mem.
 */
#include <string.h>

#include "document/check.h"

static bool is_same(const struct node *a, const struct node *b);

static bool
has_item(const struct node *list, const struct node *wanted)
{
        node_each(item, list) if (is_same(item, wanted)) return true;
        return false;
}

static bool
is_same_map(const struct node *a, const struct node *b)
{
        node_each(member, a) if (!is_same(member, node_find(b, member->key))) return false;
        return true;
}

/* Lists are compared as sets, numbers by their text. */
static bool
is_same(const struct node *a, const struct node *b)
{
        if (!a || !b)
                return a == b;
        if (a->kind != b->kind || a->len != b->len)
                return false;
        if (a->kind == NODE_MAP)
                return is_same_map(a, b);
        if (a->kind != NODE_LIST)
                return strcmp(a->text, b->text) == 0;
        node_each(item, a) if (!has_item(b, item)) return false;
        node_each(item, b) if (!has_item(a, item)) return false;
        return true;
}

size_t
document_review(const struct node *old, const struct node *new, struct document_findings *findings)
{
        static const char *const parts[][2] = {
                { "isolation", "tier" },
                { "network", "egress_allowlist" },
                { "state", "data_residency" },
                { "threat_model", "mandatory_controls" },
        };
        size_t count = 0;

        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                const struct node *now = node_find(node_find(new, parts[i][0]), parts[i][1]);

                if (is_same(node_find(node_find(old, parts[i][0]), parts[i][1]), now))
                        continue;
                count++;
                document_find(findings, false, "review_required",
                              arena_format(findings->arena, "%s.%s", parts[i][0], parts[i][1]), now,
                              "it has changed since the other document");
        }
        return count;
}
