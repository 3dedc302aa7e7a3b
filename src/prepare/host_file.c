/*
 * prepare/host_file.c - the rules of the host: from a named file, or from the default places, added
 * to the built-in rules.
 *
 * Room: prepare (joining). Touches: fd, the environment (CARREL_SECRETS_FILE, XDG_CONFIG_HOME,
 * HOME).
 * Knows where rules come from. Knows nothing of what they decide.
 */
#include "prepare/host_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/host_layers.h"
#include "ref/approve.h"
#include "ref/file.h"
#include "ref/rules.h"
#include "secret/inventory.h"
#include "text/json.h"
#include "text/yaml.h"

enum { HOST_FILE_MAX = 1024 * 1024, INVENTORY_MAX = 256 * 1024, PATH_ARENA_MAX = 64 * 1024 };

static const struct text_limits host_limits = { HOST_FILE_MAX, 32, 65536 };

static int
read_tree(struct arena *arena, const char *name, const char *bytes, size_t len,
          const struct node **ret, struct error *e)
{
        size_t name_len = strlen(name);

        if (name_len > 5 && strcmp(name + name_len - 5, ".json") == 0)
                return json_read(arena, bytes, len, &host_limits, ret, e);
        return yaml_read(arena, bytes, len, 1, &host_limits, ret, e);
}

static int
read_named(struct arena *arena, const char *name, struct ref_reads *reads, const struct node **ret,
           struct error *e)
{
        const char *bytes;
        size_t len;

        return ref_file_read(arena, name, HOST_FILE_MAX, reads, &bytes, &len, e) < 0
                       ? -1
                       : read_tree(arena, name, bytes, len, ret, e);
}

/* -- the files that it names ------------------------------------------------------------------- */

static struct node *
copy_node(struct arena *arena, const struct node *n, struct error *e)
{
        struct node *copy = arena_new(arena, struct node);

        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules"), NULL;
        *copy = *n;
        return copy;
}

/*
 * Replaces {file: PATH} by {declared: LIST}: the process that receives the tree opens no file for
 * it.
 */
static int
read_declared(struct arena *arena, struct node *member, struct ref_reads *reads, struct error *e)
{
        const struct node *list;
        const char *bytes;
        size_t len;

        if (member->kind != NODE_STRING || member->text[0] != '/')
                return fail_at(e, ERROR_SCHEMA_INVALID, "secrets", "type",
                               "secrets: file is the absolute path of a SECRETS.md");
        if (ref_file_read(arena, member->text, INVENTORY_MAX, reads, &bytes, &len, e) < 0 ||
            secret_inventory_list(arena, member->text, bytes, len, &list, e) < 0)
                return -1;
        *member = (struct node){ .kind = NODE_LIST,
                                 .line = member->line,
                                 .column = member->column,
                                 .first = list->first,
                                 .len = list->len,
                                 .key = "declared",
                                 .next = member->next,
                                 .key_line = member->key_line,
                                 .key_column = member->key_column };
        return 0;
}

/* Trees are never changed: the path down to the replaced node is copied. */
static int
replace_files(struct arena *arena, struct node *entry, struct ref_reads *reads, struct error *e)
{
        const struct node **at = &entry->first;

        for (; *at; at = &((struct node *)(uintptr_t)*at)->next) {
                struct node *member = copy_node(arena, *at, e);

                if (!member)
                        return -1;
                *at = member;
                if (member->key && strcmp(member->key, "file") == 0 &&
                    read_declared(arena, member, reads, e) < 0)
                        return -1;
        }
        return 0;
}

static int
replace_inventories(struct arena *arena, struct node *secrets, struct ref_reads *reads,
                    struct error *e)
{
        for (const struct node **at = &secrets->first; *at;
             at = &((struct node *)(uintptr_t)*at)->next) {
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
read_inventories(struct arena *arena, const struct node **tree, struct ref_reads *reads,
                 struct error *e)
{
        struct node *root;

        if (!node_find(*tree, "secrets"))
                return 0;
        root = copy_node(arena, *tree, e);
        if (!root)
                return -1;
        *tree = root;
        for (const struct node **at = &root->first; *at;
             at = &((struct node *)(uintptr_t)*at)->next) {
                struct node *member = copy_node(arena, *at, e);

                if (!member)
                        return -1;
                *at = member;
                if (strcmp(member->key, "secrets") == 0 && member->kind == NODE_MAP &&
                    replace_inventories(arena, member, reads, e) < 0)
                        return -1;
        }
        return 0;
}

/*
 * Another process asks the sources of values later. If the payload could write one, it would choose
 * the answer.
 */
static int
add_sources(struct arena *arena, const struct host_rules *rules, struct ref_reads *reads,
            struct error *e)
{
        for (size_t i = 0; i < rules->sources.count; i++) {
                const struct host_source *source = &rules->sources.items[i];
                const char *path = source->argv.count > 0 ? source->argv.items[0] : source->path;

                if (path && path[0] == '/' && reads &&
                    ref_reads_add(reads, arena, AT_FDCWD, path, -1, e) < 0)
                        return -1;
        }
        return reads && rules->secrets_file
                       ? ref_reads_add(reads, arena, AT_FDCWD, rules->secrets_file, -1, e)
                       : 0;
}

/* -- the default places ------------------------------------------------------------------------ */

const char *
host_file_users_place(struct arena *arena)
{
        const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

        if (config && config[0] == '/')
                return arena_format(arena, "%s/carrel/host.yaml", config);
        return home && home[0] == '/' ? arena_format(arena, "%s/.config/carrel/host.yaml", home)
                                      : NULL;
}

bool
host_file_has_default(void)
{
        _Alignas(16) unsigned char first[1024] = { 0 };
        const char *users;
        struct arena arena;
        bool has;

        arena_init_in(&arena, PATH_ARENA_MAX, first, sizeof first);
        users = host_file_users_place(&arena);
        has = access(HOST_FILE_MACHINE, F_OK) == 0 || (users && access(users, F_OK) == 0);
        arena_fini(&arena);
        return has;
}

static int
join_reads(struct arena *arena, const struct ref_reads *from, struct ref_reads *to, struct error *e)
{
        for (size_t i = 0; to && i < from->count; i++)
                if (ref_reads_add(to, arena, AT_FDCWD, from->paths[i], -1, e) < 0)
                        return -1;
        return 0;
}

/* One layer, read by itself so that an error has its place. No tree if the file is missing. */
static int
read_layer(struct arena *arena, const char *path, bool is_users, const char *principal,
           struct host_file *f, const struct node **ret, struct error *e)
{
        struct host_rules *alone;
        const char *bytes;
        size_t len;

        f->name = path;
        if (ref_file_read_trusted(arena, path, HOST_FILE_MAX, &f->looked, &bytes, &len, e) < 0) {
                bool is_absent =
                        e->code == ERROR_FILE_UNREADABLE && strcmp(e->reason, "not_found") == 0;
                bool is_closed =
                        e->code == ERROR_FILE_UNREADABLE && strcmp(e->reason, "permission") == 0;

                return is_absent || (is_users && is_closed) ? 0 : -1;
        }
        if (read_tree(arena, path, bytes, len, ret, e) < 0 ||
            read_inventories(arena, ret, &f->looked, e) < 0 ||
            ref_rules_of_host(arena, ret, &f->looked, e) < 0 ||
            ref_approve_of_host(arena, ret, &f->looked, e) < 0 ||
            host_rules_read(arena, *ret, principal, &alone, e) < 0)
                return -1;
        return is_users ? host_layer_check_users(*ret, e) : 0;
}

static int
load_default(struct arena *arena, unsigned flags, const char *principal, struct host_file *f,
             struct error *e)
{
        bool is_machines = (flags & HOST_FILE_SHARED) && geteuid() == 0;
        const char *users_place = host_file_users_place(arena),
                   *place = is_machines ? NULL : users_place;
        const struct node *machine = NULL, *users = NULL;

        if (is_machines && users_place &&
            ref_reads_add(&f->looked, arena, AT_FDCWD, users_place, -1, e) < 0)
                /* not read here, but no sandbox may write it either: the next `carrel run` reads
                 * it */
                return -1;
        if (read_layer(arena, HOST_FILE_MACHINE, false, principal, f, &machine, e) < 0 ||
            (place && read_layer(arena, place, true, principal, f, &users, e) < 0))
                return -1;
        f->name = users ? place : machine ? HOST_FILE_MACHINE : NULL;
        if ((machine || users) && (host_layers_join(arena, machine, users, &f->tree, e) < 0 ||
                                   host_rules_read(arena, f->tree, principal, &f->rules, e) < 0))
                return -1;
        return 0;
}

/* The command that adds a permission to these rules. */
static const char *
allow_words(struct arena *arena, const char *name, unsigned flags)
{
        if (name)
                return arena_format(arena, "carrel allow --host %s", name);
        return (flags & HOST_FILE_SHARED) && geteuid() == 0 ? "sudo carrel allow --machine"
                                                            : "carrel allow";
}

int
host_file_load(struct arena *arena, const char *name, const struct host_ability *real,
               unsigned flags, struct ref_reads *reads, struct host_file *ret, struct error *e)
{
        const char *principal = arena_format(arena, "operator://uid-%lu", (unsigned long)getuid());
        bool is_ours; /* the providers are those of this machine */

        if (!principal)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        *ret = (struct host_file){ .name = name };
        if (!name) {
                is_ours = true;
                if (load_default(arena, flags, principal, ret, e) < 0 ||
                    join_reads(arena, &ret->looked, reads, e) < 0 ||
                    (!ret->tree && host_rules_default(arena, real, principal, &ret->rules, e) < 0))
                        return -1;
        } else if (read_named(arena, name, reads, &ret->tree, e) < 0 ||
                   read_inventories(arena, &ret->tree, reads, e) < 0 ||
                   ref_rules_of_host(arena, &ret->tree, reads, e) < 0 ||
                   ref_approve_of_host(arena, &ret->tree, reads, e) < 0 ||
                   host_layer_complete(arena, ret->tree, &ret->tree, &is_ours, e) < 0 ||
                   host_rules_read(arena, ret->tree, principal, &ret->rules, e) < 0) {
                return -1;
        }
        if (is_ours || (flags & HOST_FILE_BOUND))
                host_rules_bound(ret->rules, real);
        ret->rules->allow = allow_words(arena, name, flags);
        if (!ret->rules->secrets_file)
                ret->rules->secrets_file = getenv("CARREL_SECRETS_FILE");
        return add_sources(arena, ret->rules, reads, e);
}
