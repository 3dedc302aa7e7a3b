/*
 * document/assemble.c - puts a document together.
 *
 * Room: document (deciding, pure). Touches: mem.
 * Theory: the table of fields says where a value may come from. What is enforced cannot be
 * configured, and what only an operator knows is never guessed.
 */
#include "document/assemble.h"

#include <string.h>

#include "document/kind.h"

struct assembling {
        const struct document_parts *parts;
        struct json_writer *w;
        struct document_findings *f;
};

static const struct {
        const char *path, *value;
} examples[] = {
        { "identity.name", "research" },
        { "identity.id", "example.com/sandbox/research" },
        { "identity.version", "1.0.0" },
        { "identity.provider", "example.com" },
        { "isolation.multi_tenant", "false" },
        { "resources.timeouts.per_task_loop", "20m" },
        { "resources.timeouts.per_sandbox_lifetime", "4h" },
        { "lifecycle.scheduled_deletion", "4h" },
        { "state.data_residency", "[eu-west-1]" },
        { "audit.retention", "30d" },
        { "cost_model", "{per_hour: 0, example: no charge}" },
};

const char *
document_example(const char *path)
{
        for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
                if (strcmp(examples[i].path, path) == 0)
                        return examples[i].value;
        return NULL;
}

static const struct document_part *
part_find(const struct assembling *a, const char *path)
{
        for (size_t i = 0; i < a->parts->count; i++)
                if (strcmp(a->parts->items[i].path, path) == 0)
                        return &a->parts->items[i];
        return NULL;
}

static const char *
below(const struct assembling *a, const char *path, const char *name)
{
        return path[0] == '\0' ? name : arena_format(a->f->arena, "%s.%s", path, name);
}

static void
refuse(const struct assembling *a, const struct node *where, const char *path, const char *message)
{
        document_find(a->f, true, "not_configurable", path, where, message);
}

static bool
is_operators(const struct document_field *field)
{
        return field->source == DOCUMENT_OPERATOR || field->source == DOCUMENT_OFFERED;
}

static bool
is_map_of_parts(const struct document_field *field)
{
        return document_is_section(field) || field->kind->is_parts;
}

static void
absent(const struct assembling *a, const struct document_field *field,
       const struct document_part *part, const char *path)
{
        if (part && field->is_required)
                document_find(a->f, true, field->missing, path, NULL, part->why);
        else if (!part && (field->is_required || field->source == DOCUMENT_OPERATOR))
                document_find(a->f, true, field->missing, path, NULL, "only the operator knows it");
}

static void map_write(const struct assembling *a, const struct document_kind *kind,
                      const struct node *config, const char *path, bool is_operators_map);

static void
field_write(const struct assembling *a, const struct document_field *field,
            const struct node *config, const char *path, bool is_operators_map)
{
        const struct document_part *part = part_find(a, path);
        bool is_given = part && part->json;

        if (is_map_of_parts(field)) {
                if (config && config->kind != NODE_MAP) {
                        refuse(a, config, path, "expected a map");
                        config = NULL;
                }
                json_key(a->w, field->name);
                json_open_map(a->w);
                map_write(a, field->kind, config, path, field->kind->is_parts);
                json_close_map(a->w);
                return;
        }
        /* a name that the manifest does not give is the operator's */
        if (config && (is_given || !(is_operators(field) || is_operators_map ||
                                     (part && document_example(path))))) {
                refuse(a, config, path, "this is what is enforced or measured here");
                return;
        }
        if (!is_given && !config) {
                absent(a, field, part, path);
                return;
        }
        json_key(a->w, field->name);
        if (is_given)
                json_raw(a->w, part->json, strlen(part->json));
        else
                json_node(a->w, config);
}

static void
map_write(const struct assembling *a, const struct document_kind *kind, const struct node *config,
          const char *path, bool is_operators_map)
{
        for (size_t i = 0; i < kind->member_count; i++) {
                const struct document_field *field = &kind->members[i];
                const char *here = below(a, path, field->name);

                if (here)
                        field_write(a, field, node_find(config, field->name), here,
                                    is_operators_map);
        }
        for (const struct node *member = config ? config->first : NULL; member;
             member = member->next)
                if (!document_field_find(kind, member->key))
                        refuse(a, member, below(a, path, member->key), "no such field here");
}

void
document_assemble(const struct document_parts *parts, const struct node *config, bool is_linked,
                  struct json_writer *w, struct document_findings *findings)
{
        const struct assembling a = { parts, w, findings };

        if (config && config->kind != NODE_MAP) {
                refuse(&a, config, "", "expected a map of sections");
                config = NULL;
        }
        json_open_map(w);
        if (is_linked) {
                json_key(w, "@context");
                json_open_map(w);
                json_member_text(w, "@vocab", "urn:carrel:sandbox-document:");
                json_close_map(w);
                json_member_text(w, "@type", "SandboxDocument");
        }
        map_write(&a, &document_kind, config, "", false);
        json_close_map(w);
}
