/*
 * spec/credential_scan.c - looks for plaintext credentials in a whole block.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 */
#include "spec/credential_scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "spec/credential.h"

struct walk {
        struct judge *j;
        const char *key; /* the nearest key that names a credential, or NULL */
        bool is_name_list;
};

static const char to_source[] = "Put the value into a secret source, name its slug in SECRETS.md, "
                                "and refer to it through env.auth or a *_ref setting.";
static const char to_name[] =
        "List the name alone. A value is given with the call: carrel run -e NAME=VALUE -- COMMAND. "
        "A secret comes from a source: docs/SECRETS.md.";

static void
report(struct walk *w, const struct node *n, const struct trail *at, const char *reason,
       const char *hint, const char *what)
{
        judge_error(w->j, n, at, ERROR_PLAINTEXT_CREDENTIAL, reason, hint,
                    "%s; a block never holds credentials", what);
}

static void
scalar_scan(struct walk *w, const struct node *n, const struct trail *at)
{
        bool is_number = n->kind == NODE_INT || n->kind == NODE_FLOAT;
        const char *shape;

        if (n->kind != NODE_STRING && !is_number)
                return;
        if (w->key && n->len > 0) {
                report(w, n, at, "key", to_source,
                       "this key is the name of a credential, and it has a value");
                return;
        }
        shape = n->kind == NODE_STRING ? credential_shape_find(n->text) : NULL;
        if (shape)
                report(w, n, at, "value", to_source, "this value has the shape of a credential");
        else if (w->is_name_list && !n->key && n->kind == NODE_STRING &&
                 credential_assignment_check(n->text))
                report(w, n, at, "value", to_name,
                       "this list takes names alone, and this name has a value");
}

static void
tree_scan(struct walk *w, const struct node *n, const struct trail *at)
{
        size_t index = 0;

        if (n->kind != NODE_MAP && n->kind != NODE_LIST) {
                scalar_scan(w, n, at);
                return;
        }
        node_each(child, n)
        {
                struct trail here = { at, child->key, index++ };
                struct walk inner = { w->j, w->key, w->is_name_list };

                if (child->key) {
                        inner.key = credential_key_check(child->key) ? child->key : NULL;
                        if (credential_shape_find(child->key))
                                report(w, child, at, "value", to_source,
                                       "a key in this map has the shape of a credential");
                }
                tree_scan(&inner, child, &here);
        }
}

void
credential_scan(struct judge *j, const struct node *block)
{
        struct walk w = { j, NULL, false };

        node_each(section, block)
        {
                struct trail at = { NULL, section->key, 0 };

                if (section->kind == NODE_STRING && strcmp(section->key, "provider") == 0)
                        continue;
                w.key = credential_key_check(section->key) ? section->key : NULL;
                w.is_name_list = strcmp(section->key, "env") == 0;
                if (credential_shape_find(section->key))
                        report(&w, section, NULL, "value", to_source,
                               "a key of the block has the shape of a credential");
                tree_scan(&w, section, &at);
        }
}
