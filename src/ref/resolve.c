/*
 * ref/resolve.c - from a manifest that only points to the manifest it points at.
 *
 * Room: ref (acting). Touches: whatever its reader touches.
 * Knows references and what must hold of their target. Knows nothing of where bytes come from.
 */
#include "ref/resolve.h"

#include <stdio.h>
#include <string.h>

static int
report(struct findings *findings, const struct manifest *m, struct error *e)
{
        if (e->path[0] == '\0')
                (void)snprintf(e->path, sizeof e->path, "sandbox/%s",
                               m->form == MANIFEST_FILE ? "file" : "ref");
        e->line = m->ref_line;
        e->column = m->ref_column;
        findings_add(findings, e);
        return -1;
}

static int
wrong_kind(struct error *e, const char *ref, const char *what)
{
        return fail_at(e, ERROR_REF_UNRESOLVABLE, "", "wrong_kind", "\"%.200s\" leads to %s", ref,
                       what);
}

/* Is what was found a sandbox block of its own, and the one that was asked for? */
static int
check_found(const struct reference *target, const struct manifest *found, const char *ref,
            struct error *e)
{
        const struct node *schema = node_find(found->root, "schema");
        const struct node *id = node_find(found->root, "id");

        if (node_find(found->root, "ref") || node_find(found->root, "file") ||
            node_find(found->root, "sandbox"))
                return wrong_kind(
                        e, ref, "a file that points somewhere else; references are followed once");
        if (schema && schema->kind == NODE_STRING && strcmp(schema->text, "sandbox/v1") != 0)
                return wrong_kind(e, ref, "a manifest that is no sandbox/v1");
        if (target->kind == REFERENCE_SLUG && !node_is_text(id, ref))
                return fail_at(e, ERROR_REF_UNRESOLVABLE, "", "id_mismatch",
                               "what the registry gave for \"%.200s\" calls itself something else",
                               ref);
        return 0;
}

int
ref_resolve(struct arena *arena, const struct manifest *m, const struct ref_reader *reader,
            struct manifest *ret, struct findings *findings, struct error *e)
{
        struct reference target;
        const char *bytes;
        size_t len;

        if (m->form != MANIFEST_REF && m->form != MANIFEST_FILE) {
                *ret = *m;
                return 0;
        }
        if (reference_read(arena, m->ref, "SANDBOX.md", &target, e) < 0 ||
            reader->read(reader->ctx, arena, &target, &bytes, &len, e) < 0)
                return report(findings, m, e);
        if (manifest_read(arena, bytes, len, MANIFEST_STANDALONE, MANIFEST_YAML, ret, findings, e) <
            0)
                return -1;
        if (check_found(&target, ret, m->ref, e) < 0)
                return report(findings, m, e);
        ret->runner = m->runner;
        return 0;
}
