/*
 * prepare/host_file.c - the rules of the host: from the file named, or from what this machine is.
 *
 * Room: prepare (joining). Touches: fd, the environment (CARREL_SECRETS_FILE).
 * Knows where rules come from. Knows nothing of what they decide.
 */
#include "prepare/host_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ref/file.h"
#include "secret/inventory.h"
#include "text/json.h"
#include "text/yaml.h"

enum { HOST_FILE_MAX = 1024 * 1024, INVENTORY_MAX = 256 * 1024 };

static const struct text_limits host_limits = { HOST_FILE_MAX, 32, 65536 };

int
host_file_tree(struct arena *arena, const char *name, struct ref_reads *reads, const struct node **ret, struct error *e)
{
        size_t name_len = strlen(name);
        const char *bytes;
        size_t len;

        if (ref_file_read(arena, name, HOST_FILE_MAX, reads, &bytes, &len, e) < 0)
                return -1;
        if (name_len > 5 && strcmp(name + name_len - 5, ".json") == 0)
                return json_read(arena, bytes, len, &host_limits, ret, e);
        return yaml_read(arena, bytes, len, 1, &host_limits, ret, e);
}

/* -- the files that it names ------------------------------------------------------------------------------------ */

static struct node *
copy_node(struct arena *arena, const struct node *n, struct error *e)
{
        struct node *copy = arena_new(arena, struct node);

        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules"), NULL;
        *copy = *n;
        return copy;
}

/* {file: PATH} becomes {declared: LIST}: whoever is given the tree opens no file for it. */
static int
read_declared(struct arena *arena, struct node *member, struct ref_reads *reads, struct error *e)
{
        const struct node *list;
        const char *bytes;
        size_t len;

        if (member->kind != NODE_STRING || member->text[0] != '/')
                return fail_at(e, ERROR_SCHEMA_INVALID, "secrets", "type", "secrets: file is the absolute path of a SECRETS.md");
        if (ref_file_read(arena, member->text, INVENTORY_MAX, reads, &bytes, &len, e) < 0 || secret_inventory_list(arena, member->text, bytes, len, &list, e) < 0)
                return -1;
        *member = (struct node){ .kind = NODE_LIST, .line = member->line, .column = member->column, .first = list->first, .len = list->len, .key = "declared",
                                 .next = member->next, .key_line = member->key_line, .key_column = member->key_column };
        return 0;
}

/* Trees are never changed: the way down to what is replaced is copied. */
static int
replace_files(struct arena *arena, struct node *entry, struct ref_reads *reads, struct error *e)
{
        const struct node **at = &entry->first;

        for (; *at; at = &((struct node *)(uintptr_t)*at)->next) {
                struct node *member = copy_node(arena, *at, e);

                if (!member)
                        return -1;
                *at = member;
                if (member->key && strcmp(member->key, "file") == 0 && read_declared(arena, member, reads, e) < 0)
                        return -1;
        }
        return 0;
}

static int
replace_inventories(struct arena *arena, struct node *secrets, struct ref_reads *reads, struct error *e)
{
        for (const struct node **at = &secrets->first; *at; at = &((struct node *)(uintptr_t)*at)->next) {
                struct node *entry = copy_node(arena, *at, e);

                if (!entry)
                        return -1;
                *at = entry;
                if (entry->kind == NODE_MAP && replace_files(arena, entry, reads, e) < 0)
                        return -1;
        }
        return 0;
}

static int
read_inventories(struct arena *arena, const struct node **tree, struct ref_reads *reads, struct error *e)
{
        struct node *root;

        if (!node_find(*tree, "secrets"))
                return 0;
        root = copy_node(arena, *tree, e);
        if (!root)
                return -1;
        *tree = root;
        for (const struct node **at = &root->first; *at; at = &((struct node *)(uintptr_t)*at)->next) {
                struct node *member = copy_node(arena, *at, e);

                if (!member)
                        return -1;
                *at = member;
                if (strcmp(member->key, "secrets") == 0 && member->kind == NODE_MAP && replace_inventories(arena, member, reads, e) < 0)
                        return -1;
        }
        return 0;
}

/* Sources of values are asked by another process, and later: what the payload leaves in one of them would be its answer. */
static int
add_sources(struct arena *arena, const struct host_rules *rules, struct ref_reads *reads, struct error *e)
{
        for (size_t i = 0; i < rules->sources.count; i++) {
                const struct host_source *source = &rules->sources.items[i];
                const char *path = source->argv.count > 0 ? source->argv.items[0] : source->path;

                if (path && path[0] == '/' && reads && ref_reads_add(reads, arena, AT_FDCWD, path, -1, e) < 0)
                        return -1;
        }
        return reads && rules->secrets_file ? ref_reads_add(reads, arena, AT_FDCWD, rules->secrets_file, -1, e) : 0;
}

int
host_file_load(struct arena *arena, const char *name, const struct host_ability *real, bool is_bound, struct ref_reads *reads,
               struct host_file *ret, struct error *e)
{
        const char *principal = arena_format(arena, "operator://uid-%lu", (unsigned long)getuid());

        if (!principal)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        *ret = (struct host_file){ .name = name };
        if (!name) {
                if (host_rules_default(arena, real, principal, &ret->rules, e) < 0)
                        return -1;
        } else {
                if (host_file_tree(arena, name, reads, &ret->tree, e) < 0 || read_inventories(arena, &ret->tree, reads, e) < 0
                    || host_rules_read(arena, ret->tree, principal, &ret->rules, e) < 0)
                        return -1;
                if (is_bound)
                        host_rules_bound(ret->rules, "local", real);
        }
        if (!ret->rules->secrets_file)
                ret->rules->secrets_file = getenv("CARREL_SECRETS_FILE");
        return add_sources(arena, ret->rules, reads, e);
}
