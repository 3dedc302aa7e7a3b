/*
 * document/check.c - checks a document by its table of fields.
 *
 * Room: document (deciding, pure). Touches: mem.
 * Knows kinds and rows. Knows no single field: rules.c has the rules between them.
 */
#include "document/check.h"

#include <string.h>

#include "document/kind.h"
#include "document/rules.h"
#include "document/value.h"
#include "text/nearest.h"

static void map_check(struct document_findings *f, const struct document_kind *kind,
                      const struct node *map, const char *path);

/* "path.name", or "name" at the top. */
static const char *
below(struct document_findings *f, const char *path, const char *name)
{
        return path && path[0] == '\0' ? arena_text(f->arena, name)
                                       : arena_format(f->arena, "%s.%s", path ? path : "", name);
}

static void
unknown(struct document_findings *f, const struct document_kind *kind, const struct node *member,
        const char *path)
{
        const struct node where = { .line = member->key_line, .column = member->key_column };
        struct nearest n = nearest_begin(member->key);

        for (size_t i = 0; i < kind->member_count; i++)
                (void)nearest_try(&n, kind->members[i].name, kind->members[i].name);
        document_find(
                f, false, "unknown_field", path, &where,
                n.found ? arena_format(f->arena, "no such field here; did you mean %s?", n.found)
                        : "no such field here");
}

static void
unknown_check(struct document_findings *f, const struct document_kind *kind, const struct node *map,
              const char *path)
{
        node_each(member, map) if (member->key[0] != '@' && !document_field_find(kind, member->key))
                unknown(f, kind, member, below(f, path, member->key));
}

static void
entries_check(struct document_findings *f, const struct document_field *field,
              const struct node *list, const char *path)
{
        const struct document_kind *kind = field->kind->item;
        size_t index = 0;

        node_each(item, list)
        {
                const char *here = arena_format(f->arena, "%s[%zu]", path, index++);

                if (item->kind == NODE_MAP && here)
                        map_check(f, kind, item, here);
                else
                        document_find(f, true, kind->members[0].invalid, here, item,
                                      "expected a map");
        }
}

/* The values of a control are checked by a rule of its own. */
static void
controls_check(struct document_findings *f, const struct document_kind *kind,
               const struct node *list, const char *path)
{
        size_t index = 0;

        node_each(item, list)
        {
                const char *here = arena_format(f->arena, "%s[%zu]", path, index++);

                if (item->kind == NODE_MAP && here)
                        unknown_check(f, kind, item, here);
        }
}

static void
missing(struct document_findings *f, const struct document_field *field, const struct node *map,
        const char *path)
{
        if (field->kind->is_parts) {
                const struct node nothing = { .line = map->line, .column = map->column };

                map_check(f, field->kind, &nothing, path);
                return;
        }
        document_find(f, true, field->missing, path, map,
                      arena_format(f->arena, "%s is missing: expected %s", path ? path : "",
                                   field->kind->expects));
}

static void
field_check(struct document_findings *f, const struct document_field *field,
            const struct node *value, const char *path)
{
        const struct document_kind *kind = field->kind;

        if (document_is_section(field) &&
            (value->kind == NODE_NULL || (value->kind == NODE_MAP && value->len == 0))) {
                document_find(f, true, field->missing, path, value, "the section is empty");
                return;
        }
        if (!document_holds(kind, value)) {
                if (kind->is_parts)
                        missing(f, field, value, path);
                else
                        document_find(f, true, field->invalid, path, value,
                                      arena_format(f->arena, "expected %s", kind->expects));
                return;
        }
        if (kind->shape == DOCUMENT_MAP)
                map_check(f, kind, value, path);
        else if (kind->shape == DOCUMENT_CONTROLS)
                controls_check(f, kind->item, value, path);
        else if (kind->shape == DOCUMENT_LIST && kind->item->shape == DOCUMENT_MAP)
                entries_check(f, field, value, path);
}

/* Something else than a map has none of the members. */
static void
map_check(struct document_findings *f, const struct document_kind *kind, const struct node *map,
          const char *path)
{
        for (size_t i = 0; i < kind->member_count; i++) {
                const struct document_field *field = &kind->members[i];
                const struct node *value = node_find(map, field->name);
                const char *here = below(f, path, field->name);

                if (value && here)
                        field_check(f, field, value, here);
                else if (field->is_required)
                        missing(f, field, map, here);
        }
        if (map->kind == NODE_MAP)
                unknown_check(f, kind, map, path);
}

void
document_check(const struct node *root, const struct document_options *options,
               struct document_findings *findings)
{
        if (root->kind != NODE_MAP) {
                document_find(findings, true, "type", "", root,
                              "a sandbox document is a map of ten sections");
                return;
        }
        map_check(findings, &document_kind, root, "");
        document_rules_check(root, options, findings);
}
