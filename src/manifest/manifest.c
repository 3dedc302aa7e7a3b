/*
 * manifest/manifest.c - the syntax level: from a tree to the block and its position, before its
 * meaning is checked.
 *
 * Room: manifest (deciding). Touches: mem.
 * Knows the three kinds of input and the forms of embedding. Knows nothing of what a block's fields
 * mean.
 *
 *   standalone:  ---           parent:  sandbox:          block:  provider: local
 *                provider: x              inline: {...}           config: {}
 *                ---                      ref: ./x  (or file:)
 *                words                    provider: x (bare, with a warning)
 *
 * Readers of text are in manifest/text.c: a process that receives trees links none.
 *
 * M1. At most one of inline, ref, file; nothing beside it.
 *
 * M2. A reference stays text. No code here could open it.
 */
#include "manifest/manifest.h"

#include <string.h>

static int
place_error(struct error *e, const struct node *n)
{
        e->line = n->line;
        e->column = n->column;
        return -1;
}

static int
expect(const struct node *n, enum node_kind kind, const char *path, struct error *e)
{
        if (n->kind == kind)
                return 0;
        (void)fail_at(e, ERROR_SCHEMA_INVALID, path, "type", "%s must be a %s, not a %s",
                      *path ? path : "the document", node_kind_name(kind), node_kind_name(n->kind));
        return place_error(e, n);
}

/* -- the forms of embedding -------------------------------------------------------------------- */

static const struct form {
        const char *key;
        enum manifest_form form;
        enum node_kind kind; /* of its value */
        const char *path;
} forms[] = {
        { "inline", MANIFEST_INLINE, NODE_MAP, "sandbox/inline" },
        { "ref", MANIFEST_REF, NODE_STRING, "sandbox/ref" },
        { "file", MANIFEST_FILE, NODE_STRING, "sandbox/file" },
};

static const struct form *
form_find(const char *key)
{
        for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
                if (strcmp(forms[i].key, key) == 0)
                        return &forms[i];
        }
        return NULL;
}

static int
refuse_second_form(const struct node *first, const struct node *second, struct error *e)
{
        (void)fail_at(e, ERROR_FORM_CONFLICT, "sandbox", NULL,
                      "sandbox names `%s` and `%s`; it can be only one of them", first->key,
                      second->key);
        e->line = second->key_line;
        e->column = second->key_column;
        return -1;
}

/* Gives the one member that is a form, or NULL. */
static int
find_form(const struct node *sandbox, const struct node **ret, struct error *e)
{
        const struct node *found = NULL;

        node_each(member, sandbox)
        {
                if (!form_find(member->key))
                        continue;
                if (found)
                        return refuse_second_form(found, member, e);
                found = member;
        }
        *ret = found;
        return 0;
}

static int
refuse_neighbour(struct arena *arena, const struct node *sandbox, const struct node *form,
                 struct error *e)
{
        node_each(member, sandbox)
        {
                const char *path;

                if (member == form)
                        continue;
                path = arena_format(arena, "sandbox/%s", member->key);
                (void)fail_at(e, ERROR_SCHEMA_INVALID, path, "unknown_field",
                              "no other field is allowed beside `%s` in sandbox", form->key);
                error_hint(e, "Move it into the block that `%s` gives, or remove it.", form->key);
                e->line = member->key_line;
                e->column = member->key_column;
                return -1;
        }
        return 0;
}

static void
take_bare_block(const struct node *sandbox, struct manifest *m, struct findings *findings)
{
        m->form = MANIFEST_BARE;
        m->block = sandbox;
        m->block_path = "sandbox";
        findings_warn(findings, "bare_block", "sandbox", sandbox->key_line, sandbox->key_column,
                      "the block stands straight under `sandbox`; write it under `sandbox: "
                      "{inline: ...}`");
}

static int
take_form(const struct node *value, struct manifest *m, struct error *e)
{
        const struct form *form = form_find(value->key);

        /* lint: the caller found the value by its form */
        if (expect(value, form->kind, form->path, e) < 0)
                return -1;
        m->form = form->form;
        if (form->kind == NODE_MAP) {
                m->block = value;
                m->block_path = form->path;
                return 0;
        }
        m->ref = value->text;
        m->ref_line = value->line;
        m->ref_column = value->column;
        return 0;
}

static int
read_sandbox(struct arena *arena, struct manifest *m, struct findings *findings, struct error *e)
{
        const struct node *sandbox = node_find(m->root, "sandbox"), *form;

        if (!sandbox)
                return 0;
        if (expect(sandbox, NODE_MAP, "sandbox", e) < 0)
                return -1;
        if (sandbox->len == 0) {
                (void)fail_at(e, ERROR_FORM_MISSING, "sandbox", NULL,
                              "sandbox is empty: it declares neither a block nor a reference");
                return place_error(e, sandbox);
        }
        if (find_form(sandbox, &form, e) < 0)
                return -1;
        if (!form) {
                take_bare_block(sandbox, m, findings);
                return 0;
        }
        return refuse_neighbour(arena, sandbox, form, e) < 0 ? -1 : take_form(form, m, e);
}

/* A runner that is only a reference is not read: its block is not in this file. */
static int
read_runner(struct manifest *m, struct error *e)
{
        const struct node *runner = node_find(m->root, "runner"), *inside;

        if (!runner || runner->kind == NODE_NULL)
                return 0;
        if (expect(runner, NODE_MAP, "runner", e) < 0)
                return -1;
        inside = node_find(runner, "inline");
        if (inside && expect(inside, NODE_MAP, "runner/inline", e) < 0)
                return -1;
        if (inside)
                m->runner = inside;
        else if (!node_find(runner, "ref") && !node_find(runner, "file"))
                m->runner = runner;
        return 0;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int
take_tree(struct arena *arena, struct manifest *m, struct findings *findings, struct error *e)
{
        if (expect(m->root, NODE_MAP, "", e) < 0)
                return -1;
        if (m->kind == MANIFEST_PARENT)
                return read_sandbox(arena, m, findings, e) < 0 ? -1 : read_runner(m, e);
        m->form = MANIFEST_INLINE;
        m->block = m->root;
        return 0;
}

int
manifest_from_tree(struct arena *arena, const struct node *root, enum manifest_kind kind,
                   struct manifest *ret, struct findings *findings, struct error *e)
{
        struct manifest m = { .kind = kind, .form = MANIFEST_NONE, .block_path = "", .root = root };

        if (take_tree(arena, &m, findings, e) < 0) {
                findings_add(findings, e);
                return -1;
        }
        *ret = m;
        return 0;
}
