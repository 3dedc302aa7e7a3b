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
#include "spec/section.h"
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

/* By the same reader as a manifest's: with the same grammar, presets and messages. */
static int
read_entries(struct arena *arena, const struct node *list, struct spec *ret, struct error *e)
{
        static const struct trail network = { NULL, "network", 0 };
        struct findings findings;
        struct judge judge = { .arena = arena, .findings = &findings };

        if (!list || list->kind == NODE_NULL)
                return 0;
        if (list->kind != NODE_LIST)
                return not_a_list(list, e);
        if (list->len > GATE_ENTRIES_MAX)
                return fail_at(e, ERROR_QUOTA_EXCEEDED, "network/egress", "too_many",
                               "%zu destinations; at most %d can be listed", list->len,
                               GATE_ENTRIES_MAX);
        findings_init(&findings, arena);
        egress_list_read(&judge, list, &(struct trail){ &network, "egress", 0 }, ret);
        if (arena_is_full(arena))
                return fail(e, ERROR_NO_MEMORY, "no memory for the list");
        return findings_verdict(&findings, e);
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
        if (read_tree(arena, file, &list, e) < 0 || read_entries(arena, list, &ret->spec, e) < 0)
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
