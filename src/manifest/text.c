/*
 * manifest/text.c - from the bytes of a manifest to its tree.
 *
 * Room: manifest (deciding). Touches: mem.
 * Knows which part of a file is the manifest. Knows nothing of its content.
 */
#include "manifest/frontmatter.h"
#include "manifest/manifest.h"
#include "text/json.h"
#include "text/yaml.h"

static int
read_tree(struct arena *arena, const char *bytes, size_t len, enum manifest_kind kind,
          enum manifest_syntax syntax, const struct node **ret, struct error *e)
{
        const struct text_limits *limits = &text_limits_manifest;
        struct frontmatter front = { .text = bytes, .len = len, .first_line = 1 };
        bool has_front = kind == MANIFEST_STANDALONE ||
                         (kind == MANIFEST_PARENT && frontmatter_begins(bytes, len));

        if (syntax == MANIFEST_JSON)
                return json_read(arena, bytes, len, limits, ret, e);
        if (has_front && frontmatter_find(bytes, len, &front, e) < 0)
                return -1;
        return yaml_read(arena, front.text, front.len, front.first_line, limits, ret, e);
}

int
manifest_read(struct arena *arena, const char *bytes, size_t len, enum manifest_kind kind,
              enum manifest_syntax syntax, struct manifest *ret, struct findings *findings,
              struct error *e)
{
        const struct node *root;

        if (read_tree(arena, bytes, len, kind, syntax, &root, e) < 0) {
                findings_add(findings, e);
                return -1;
        }
        if (manifest_from_tree(arena, root, kind, ret, findings, e) < 0)
                return -1;
        ret->syntax = syntax;
        return 0;
}
