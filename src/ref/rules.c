/*
 * ref/rules.c - rules for commands that are in a file of their own.
 *
 * Room: ref (acting). Touches: whatever its reader touches; the file that a host file names.
 * Knows how rules are referred to. Knows nothing of what they mean.
 * Theory: ref/graft.h. `carrel policy test` reads the file itself, with its own places.
 */
#include "ref/rules.h"

#include <string.h>

#include "manifest/override.h"
#include "ref/file.h"
#include "ref/graft.h"
#include "text/json.h"
#include "text/yaml.h"

static const char in_block[] = "metadata/carrel/commands";

/* -- the content ------------------------------------------------------------------------------- */

static int
read_content(struct arena *arena, const struct node *file, const char *bytes, size_t len,
             struct node **ret, struct error *e)
{
        size_t name_len = strlen(file->text);
        bool is_json = name_len > 5 && strcmp(file->text + name_len - 5, ".json") == 0;
        const struct node *root;

        if ((is_json ? json_read(arena, bytes, len, &text_limits_manifest, &root, e)
                     : yaml_read(arena, bytes, len, 1, &text_limits_manifest, &root, e)) < 0)
                return -1;
        if (root->kind != NODE_MAP || node_find(root, "file"))
                return fail_at(e, ERROR_REF_UNRESOLVABLE, "", "wrong_kind",
                               "\"%.200s\" is no map of rules for commands", file->text);
        *ret = ref_graft_copy(arena, root, file);
        return *ret ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for rules");
}

/* -- a manifest -------------------------------------------------------------------------------- */

static const struct node *
commands_of(const struct manifest *m)
{
        const struct node *carrel = node_find(node_find(m->block, "metadata"), "carrel");

        return node_find(carrel, "commands");
}

bool
ref_rules_are_file(const struct manifest *m)
{
        const struct node *commands = commands_of(m), *file = node_find(commands, "file");

        return file && file->kind == NODE_STRING && file->len > 0 && commands->len == 1;
}

int
ref_rules_resolve(struct arena *arena, struct manifest *m, const struct ref_reader *reader,
                  struct error *e)
{
        const struct node *file = node_find(commands_of(m), "file");
        struct reference target;
        struct node *rules = NULL;
        const char *bytes = NULL;
        size_t len = 0;

        if (!ref_rules_are_file(m))
                return 0;
        if (reference_read(arena, file->text, NULL, &target, e) < 0 ||
            reader->read(reader->ctx, arena, &target, &bytes, &len, e) < 0 ||
            read_content(arena, file, bytes, len, &rules, e) < 0)
                return ref_graft_fail(e, file, "metadata/carrel/commands/file");
        return manifest_replace(arena, m, in_block, rules, e);
}

/* -- a host file ------------------------------------------------------------------------------- */

static int
read_of_host(struct arena *arena, const struct node *file, struct ref_reads *reads,
             struct node **ret, struct error *e)
{
        const char *bytes = NULL;
        size_t len = 0;

        if (file->kind != NODE_STRING || file->text[0] != '/')
                return fail_at(e, ERROR_SCHEMA_INVALID, "", "type",
                               "file is the absolute path of a file with rules for commands");
        if (ref_file_read(arena, file->text, REF_FILE_MAX, reads, &bytes, &len, e) < 0)
                return -1;
        return read_content(arena, file, bytes, len, ret, e);
}

int
ref_rules_of_host(struct arena *arena, const struct node **tree, struct ref_reads *reads,
                  struct error *e)
{
        const struct node *commands = node_find(*tree, "commands");
        const struct node *file = node_find(commands, "file");
        struct node *rules = NULL;

        if (!file)
                return 0;
        if (commands->len > 1) {
                (void)fail_at(e, ERROR_SCHEMA_INVALID, "", "type",
                              "commands: file excludes all other fields");
                error_hint(e, "Move the other fields into the file.");
                return ref_graft_fail(e, file, "commands/file");
        }
        if (read_of_host(arena, file, reads, &rules, e) < 0)
                return ref_graft_fail(e, file, "commands/file");
        return ref_graft_member(arena, tree, commands, rules, e);
}
