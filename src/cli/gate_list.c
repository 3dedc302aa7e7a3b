/*
 * cli/gate_list.c - the destinations that `carrel gate` permits.
 *
 * Room: cli (joining, program). Touches: fd.
 * Theory: one grammar (spec/egress.h) and one rule of the host (policy/host_destination.h), for
 * every kind of file with a list.
 */
#include <stdio.h>
#include <string.h>

#include "cli/gate.h"
#include "manifest/manifest.h"
#include "policy/host_destination.h"
#include "prepare/host_file.h"
#include "ref/file.h"
#include "spec/preset.h"
#include "text/json.h"
#include "text/yaml.h"
#include "wire/gate.h"

static bool
ends_with(const char *text, const char *end)
{
        size_t len = strlen(text), end_len = strlen(end);

        return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static int
not_a_list(const struct node *n, struct error *e)
{
        (void)fail_at(e, ERROR_SCHEMA_INVALID, "network/egress", "type",
                      "the destinations are a list, and this is %s", node_kind_name(n->kind));
        e->line = n->line;
        e->column = n->column;
        return -1;
}

/* The list in a tree that is not front matter: the root, `egress`, or network.egress of a block. */
static int
find_list(const struct node *root, const struct node **ret, struct error *e)
{
        const struct node *network = node_find(root, "network");

        *ret = NULL;
        if (root->kind == NODE_NULL)
                return 0;
        if (root->kind == NODE_LIST) {
                *ret = root;
                return 0;
        }
        if (root->kind != NODE_MAP)
                return not_a_list(root, e);
        if (node_find(root, "schema") || network) {
                *ret = node_find(network, "egress");
                return 0;
        }
        node_each(child, root) if (strcmp(child->key, "egress") != 0)
        {
                (void)fail_at(e, ERROR_SCHEMA_INVALID, "", "unknown_field",
                              "\"%.64s\" has no meaning here: a policy has `egress`, a list",
                              child->key);
                e->line = child->key_line;
                e->column = child->key_column;
                return -1;
        }
        *ret = node_find(root, "egress");
        return 0;
}

static int
read_manifest(struct arena *arena, const char *file, const struct node **ret, struct error *e)
{
        struct ref_manifest_file read;
        struct findings findings;
        struct manifest m;

        findings_init(&findings, arena);
        if (ref_manifest_open(arena, file, NULL, &read, e) < 0 ||
            manifest_read(arena, read.bytes, read.len, read.kind, read.syntax, &m, &findings, e) <
                    0)
                return -1;
        if (m.form == MANIFEST_REF || m.form == MANIFEST_FILE)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "sandbox", "ref",
                               "this manifest refers to another (\"%.100s\"); pass that file",
                               m.ref);
        *ret = node_find(node_find(m.block, "network"), "egress");
        return 0;
}

static int
read_tree(struct arena *arena, const char *file, const struct node **ret, struct error *e)
{
        const struct node *root;
        const char *bytes;
        size_t len;

        if (ends_with(file, ".md"))
                return read_manifest(arena, file, ret, e);
        if (ref_file_read(arena, file, REF_FILE_MAX, NULL, &bytes, &len, e) < 0)
                return -1;
        if (ends_with(file, ".json")
                    ? json_read(arena, bytes, len, &text_limits_manifest, &root, e) < 0
                    : yaml_read(arena, bytes, len, 1, &text_limits_manifest, &root, e) < 0)
                return -1;
        return find_list(root, ret, e);
}

static int
too_many(size_t count, struct error *e)
{
        return fail_at(e, ERROR_QUOTA_EXCEEDED, "network/egress", "too_many",
                       "%zu destinations; at most %d can be listed", count, GATE_ENTRIES_MAX);
}

struct entries {
        struct spec_egress *items; /* GATE_ENTRIES_MAX */
        size_t count;
};

/* Adds a host: an entry, or one of a preset's. */
static int
add_entry(struct arena *arena, const char *text, const struct node *n, size_t item,
          struct entries *to, struct error *e)
{
        struct spec_egress *entry = &to->items[to->count];

        if (to->count == GATE_ENTRIES_MAX)
                return too_many(to->count + 1, e);
        if (egress_read(arena, text, entry, e) < 0)
                return -1;
        entry->line = n->line;
        entry->column = n->column;
        entry->item = item;
        to->count++;
        return 0;
}

static int
read_entry(struct arena *arena, const struct node *n, size_t item, struct entries *to,
           struct error *e)
{
        const struct egress_preset *preset;

        if (n->kind != NODE_STRING)
                return fail_at(e, ERROR_SCHEMA_INVALID, "", "type",
                               "each destination is a string, and this is %s",
                               node_kind_name(n->kind));
        if (!egress_preset_is(n->text))
                return add_entry(arena, n->text, n, item, to, e);
        if (egress_preset_find(n->text, &preset, e) < 0)
                return -1;
        for (const char *const *host = preset->hosts; *host; host++)
                if (add_entry(arena, *host, n, item, to, e) < 0)
                        return -1;
        return 0;
}

static int
read_entries(struct arena *arena, const struct node *list, struct gate_list *ret, struct error *e)
{
        struct entries to = { NULL, 0 };
        size_t count = list ? list->len : 0;

        if (list && list->kind == NODE_NULL)
                count = 0;
        else if (list && list->kind != NODE_LIST)
                return not_a_list(list, e);
        if (count > GATE_ENTRIES_MAX)
                return too_many(count, e);
        to.items = arena_array(arena, struct spec_egress, GATE_ENTRIES_MAX + 1);
        if (!to.items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the list");
        for (size_t i = 0; i < count; i++) {
                const struct node *n = node_at(list, i);

                if (read_entry(arena, n, i, &to, e) < 0) {
                        (void)snprintf(e->path, sizeof e->path, "network/egress/%zu", i);
                        e->line = n->line;
                        e->column = n->column;
                        return -1;
                }
        }
        ret->spec.egress = to.items;
        ret->spec.egress_count = to.count;
        return 0;
}

/* Does the host permit a request for this? The rule is that of a manifest. */
static int
ask_host(const struct gate_list *list, struct error *e)
{
        for (size_t i = 0; i < list->spec.egress_count; i++) {
                const struct spec_egress *entry = &list->spec.egress[i];
                enum host_destination judged = host_destination_judge(&list->rules, entry);
                char text[EGRESS_TEXT_ROOM];

                if (judged == HOST_DESTINATION_PERMITTED)
                        continue;
                (void)fail_at(e, ERROR_EGRESS_NOT_PERMITTED, "", host_destination_reason(judged),
                              "%s %s", egress_text(entry, text), host_destination_words(judged));
                (void)snprintf(e->path, sizeof e->path, "network/egress/%zu", entry->item);
                e->line = entry->line;
                e->column = entry->column;
                return -1;
        }
        return 0;
}

int
gate_list_read(struct arena *arena, const char *file, const char *host_file, struct gate_list *ret,
               const char **ret_about, struct error *e)
{
        static const struct host_ability none;
        const struct node *list = NULL;
        struct host_file host;

        *ret = (struct gate_list){ .file = file };
        if (read_tree(arena, file, &list, e) < 0 || read_entries(arena, list, ret, e) < 0)
                return -1;
        if (host_file_load(arena, host_file, &none, 0, NULL, &host, e) < 0) {
                *ret_about = host.name;
                return -1;
        }
        *ret_about = file;
        ret->rules = *host.rules;
        ret->spec.wall.is_given = true;
        return ask_host(ret, e);
}
