/*
 * policy/host_file.c - reading a host file.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows the fields of a host file. Knows nothing of where the file lies or which user runs this.
 * Theory: one row for each field. An unknown field is an error, because a misspelt permission or
 * prohibition must not be ignored silently.
 */
#include "policy/host_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/host_fields.h"
#include "spec/approve.h"
#include "spec/provider.h"
#include "spec/sanitize.h"
#include "spec/section.h"
#include "text/nearest.h"
#include "text/redact_group.h"

int
host_reading_no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
}

int
host_reading_wrong(struct host_reading *r, const struct node *n, const char *path,
                   const char *reason, const char *message)
{
        (void)fail_at(r->e, ERROR_SCHEMA_INVALID, path, reason, "%s%s%s", path,
                      path[0] != '\0' ? ": " : "", message);
        r->e->line = n->line;
        r->e->column = n->column;
        error_hint(r->e, "Correct the host file.");
        return -1;
}

/* -- lists of words ---------------------------------------------------------------------------- */

static int
wrong_list(struct host_reading *r, const struct node *n, const char *path, const char *message)
{
        (void)host_reading_wrong(r, n, path, "type", message);
        if (n->kind == NODE_STRING && n->len > 0)
                error_hint(r->e, "Write: %s: [%.100s]", path, n->text);
        return -1;
}

int
host_read_names(struct host_reading *r, const struct node *n, const char *path,
                struct spec_names *ret)
{
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > HOST_NAMES_MAX)
                return wrong_list(r, n, path, "this is a list of words");
        items = arena_array(r->arena, const char *, n->len + 1);
        if (!items)
                return host_reading_no_memory(r->e);
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0)
                        return host_reading_wrong(r, item, path, "type", "each entry is a word");
                items[count++] = item->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_roots(struct host_reading *r, const struct node *n, const char *path, struct spec_names *ret)
{
        if (host_read_names(r, n, path, ret) < 0)
                return -1;
        for (size_t i = 0; i < ret->count; i++)
                if (strchr(ret->items[i], '*'))
                        return host_reading_wrong(r, n, path, "pattern",
                                                  "a directory has no wildcard; all directories "
                                                  "below a listed one are permitted with it");
                else if (ret->items[i][0] != '/' ||
                         !host_path_is_below(&(struct spec_names){ &ret->items[i], 1 },
                                             ret->items[i]))
                        return host_reading_wrong(
                                r, n, path, "pattern",
                                "each entry is an absolute path without \"..\", \".\" or \"//\"");
        return 0;
}

/* -- the fields -------------------------------------------------------------------------------- */

static int
host_read_trust(struct host_reading *r, const struct node *n)
{
        if (!node_is_text(n, "trusted") && !node_is_text(n, "untrusted"))
                return host_reading_wrong(r, n, "trust", "enum", "this is trusted or untrusted");
        r->rules->is_trusted = node_is_text(n, "trusted");
        return 0;
}

static int
host_read_principal(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING || n->len == 0 || strcmp(n->text, "*") == 0)
                return host_reading_wrong(r, n, "principal", "type",
                                          "this is the name of one principal");
        r->rules->principal = n->text;
        return 0;
}

static int
host_read_providers(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "providers", "type",
                                          "this is a map from provider ids to abilities");
        node_each(member, n)
        {
                const char *path = arena_format(r->arena, "providers/%s", member->key);
                const struct provider *known = provider_find(member->key);
                struct host_program program;
                struct host_ability can;
                int rc;

                if (!path)
                        return host_reading_no_memory(r->e);
                if (host_ability_read(r->arena, member, path, &can, r->e) < 0 ||
                    host_program_read(r->arena, member, path, &program, r->e) < 0)
                        return -1;
                if (program.argv.count > 0)
                        host_program_bound(member, &can);
                if (known && known->tier)
                        can.tier = known->tier; /* no host file raises it */
                /* an exact reserved id is described; another spelling of it conflicts */
                rc = host_provider_describe(&r->rules->providers, r->arena, member->key, &can,
                                            r->e);
                if (rc < 0)
                        rc = host_provider_register(&r->rules->providers, r->arena, member->key,
                                                    &can, r->e);
                if (rc == 0)
                        r->rules->providers.items[r->rules->providers.count - 1].program = program;
                if (rc < 0) {
                        r->e->line = member->key_line;
                        r->e->column = member->key_column;
                        return -1;
                }
        }
        return 0;
}

static int
host_read_least_tier(struct host_reading *r, const struct node *n)
{
        for (size_t i = 0; provider_tiers[i]; i++)
                if (node_is_text(n, provider_tiers[i]))
                        r->rules->least_tier = provider_tiers[i];
        return r->rules->least_tier
                       ? 0
                       : host_reading_wrong(r, n, "least_tier", "enum", "this is T1, T2, T3 or T4");
}

static int
wrong_count(struct host_reading *r, const struct node *n, const char *path, uint64_t least,
            uint64_t most)
{
        char message[80];

        (void)snprintf(message, sizeof message,
                       "this is a whole number from %" PRIu64 " to %" PRIu64, least, most);
        return host_reading_wrong(r, n, path, "range", message);
}

static int
unknown_limit(struct host_reading *r, const struct node *n, const char *path)
{
        struct nearest nearest = nearest_begin(n->key);
        const char *section, *meant, *begun = NULL; /* memory: memory_mb */
        const struct field *row;

        (void)host_reading_wrong(r, n, path, "unknown_field",
                                 "its fields are those of limits and of metadata.carrel.limits in "
                                 "a manifest");
        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++) {
                (void)nearest_try(&nearest, row->name, row->name);
                if (strncmp(row->name, n->key, strlen(n->key)) == 0)
                        begun = row->name;
        }
        meant = begun ? begun : nearest.found;
        error_hint(r->e, "%s%s%sdocs/FIELDS.md lists the limits.", meant ? "Did you mean `" : "",
                   meant ? meant : "", meant ? "`? " : "");
        return -1;
}

static int
host_read_limits_max(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "limits_max", "type",
                                          "this is a map from limits to numbers");
        node_each(member, n)
        {
                const struct field *row = host_limits_find(member->key);
                const char *path = arena_format(r->arena, "limits_max/%s", member->key);
                uint64_t value = (uint64_t)member->integer;

                if (!path)
                        return host_reading_no_memory(r->e);
                if (!row)
                        return unknown_limit(r, member, path);
                if (member->kind != NODE_INT || member->integer < (int64_t)row->min ||
                    member->integer > (int64_t)row->max)
                        return wrong_count(r, member, path, row->min, row->max);
                memcpy((char *)&r->rules->limits.each + row->offset, &value, sizeof value);
        }
        return 0;
}

static int
read_count(struct host_reading *r, const struct node *n, int64_t least, int64_t most, uint64_t *ret)
{
        if (n->kind != NODE_INT || n->integer < least || n->integer > most)
                return wrong_count(r, n, n->key, (uint64_t)least, (uint64_t)most);
        *ret = (uint64_t)n->integer;
        return 0;
}

static int
host_read_sandboxes_max(struct host_reading *r, const struct node *n)
{
        return read_count(r, n, 1, HOST_SANDBOXES_MAX, &r->rules->limits.sandboxes);
}

static int
host_read_execs_max(struct host_reading *r, const struct node *n)
{
        return read_count(r, n, 1, HOST_EXECS_MAX, &r->rules->limits.execs);
}

static int
host_read_volumes_max(struct host_reading *r, const struct node *n)
{
        return read_count(r, n, 0, HOST_VOLUMES_MAX, &r->rules->limits.volumes);
}

static int
host_read_audit(struct host_reading *r, const struct node *n)
{
        struct spec_names words;

        if (host_read_names(r, n, "audit", &words) < 0)
                return -1;
        for (size_t i = 0; i < words.count; i++)
                if (strcmp(words.items[i], "run") != 0 && strcmp(words.items[i], "content") != 0)
                        return host_reading_wrong(r, n, "audit", "enum",
                                                  "each entry is run, or content");
        r->rules->audits_run = host_names_have(&words, "run");
        r->rules->keeps_content = host_names_have(&words, "content");
        return 0;
}

static int
host_read_audit_retention(struct host_reading *r, const struct node *n)
{
        static const uint64_t day_ms = 24ull * 3600 * 1000;
        uint64_t days = 0;
        size_t len = n->kind == NODE_STRING ? n->len : 0;

        /* at most five digits, and the unit */
        if (len >= 2 && len <= 6 && n->text[len - 1] == 'd' && n->text[0] != '0')
                for (size_t i = 0; i + 1 < len; i++) {
                        if (n->text[i] < '0' || n->text[i] > '9')
                                return host_reading_wrong(r, n, "audit_retention", "pattern",
                                                          "this is a number of days, as 30d");
                        days = days * 10 + (uint64_t)(n->text[i] - '0');
                }
        if (days == 0)
                return host_reading_wrong(r, n, "audit_retention", "pattern",
                                          "this is a number of days, as 30d");
        r->rules->audit_keep_ms = days * day_ms;
        return 0;
}

static int
host_read_risk(struct host_reading *r, const struct node *n)
{
        if (!node_is_text(n, "required") && !node_is_text(n, "optional"))
                return host_reading_wrong(r, n, "risk", "enum", "this is required or optional");
        r->rules->needs_risk = node_is_text(n, "required");
        return 0;
}

static int
read_recorded(struct host_reading *r, const struct node *n, const char *field, bool *ret_ignores)
{
        if (n->kind != NODE_BOOL)
                return host_reading_wrong(r, n, field, "type", "this is true or false");
        *ret_ignores = !n->boolean;
        return 0;
}

static int
host_read_audit_executions(struct host_reading *r, const struct node *n)
{
        return read_recorded(r, n, "audit_executions", &r->rules->ignores_executions);
}

static int
host_read_audit_files(struct host_reading *r, const struct node *n)
{
        return read_recorded(r, n, "audit_files", &r->rules->ignores_files);
}

static const struct {
        const char *name;
        bool can_be_off;
} redact_groups[REDACT_GROUP_MAX] = {
#define REDACT_GROUP(word, off, text) { #word, off },
#include "text/redact_group.def"
#undef REDACT_GROUP
};

static int
read_redact_group(struct host_reading *r, const struct node *n)
{
        char path[64];
        int i = 0;

        (void)snprintf(path, sizeof path, "redact/%.40s", n->key);
        while (i < REDACT_GROUP_MAX && strcmp(redact_groups[i].name, n->key) != 0)
                i++;
        if (i == REDACT_GROUP_MAX)
                return host_reading_wrong(r, n, path, "unknown_field",
                                          "the groups are credentials, personal and financial");
        if (n->kind != NODE_BOOL)
                return host_reading_wrong(r, n, path, "type", "this is true or false");
        if (!n->boolean && !redact_groups[i].can_be_off)
                return host_reading_wrong(
                        r, n, path, "required",
                        "keys, passwords and tokens are always removed; remove this line");
        r->rules->redact_off |= n->boolean ? 0 : 1u << i;
        return 0;
}

static int
host_read_redact(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "redact", "type",
                                          "this is a map, for example {personal: false}");
        node_each(member, n) if (read_redact_group(r, member) < 0) return -1;
        return 0;
}

static int
host_read_passthrough_allow(struct host_reading *r, const struct node *n)
{
        const struct spec_names *names = &r->rules->passthrough_allow;

        if (host_read_names(r, n, "passthrough_allow", &r->rules->passthrough_allow) < 0)
                return -1;
        for (size_t i = 0; i < names->count; i++)
                if (strpbrk(names->items[i], "*?= "))
                        return host_reading_wrong(r, n, "passthrough_allow", "pattern",
                                                  "each entry is the whole name of one variable");
        return 0;
}

static int
unknown_operation(struct host_reading *r, const struct node *n)
{
        const char *word = n->kind == NODE_STRING ? n->text : "";
        struct nearest nearest = nearest_begin(word);
        char all[256];
        size_t len = 0;

        all[0] = '\0';
        for (size_t i = 0; spec_approve_words[i]; i++) {
                (void)nearest_try(&nearest, spec_approve_words[i], spec_approve_words[i]);
                if (len < sizeof all)
                        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s",
                                                i > 0 ? ", " : "", spec_approve_words[i]);
        }
        (void)host_reading_wrong(r, n, "approve", "choice",
                                 "this is not an operation that can wait");
        error_hint(r->e, "%s%s%sThese can wait: %s.", nearest.found ? "Did you mean " : "",
                   nearest.found ? nearest.found : "", nearest.found ? "? " : "", all);
        return -1;
}

static int
host_read_approve(struct host_reading *r, const struct node *n)
{
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > SPEC_APPROVE_MAX)
                return wrong_list(r, n, "approve", "this is a list of operations");
        items = arena_array(r->arena, const char *, n->len + 1);
        if (!items)
                return host_reading_no_memory(r->e);
        node_each(item, n)
        {
                items[count] =
                        item->kind == NODE_STRING ? spec_approve_operation(item->text) : NULL;
                if (!items[count++])
                        return unknown_operation(r, item);
        }
        r->rules->approve = (struct spec_names){ items, count };
        return 0;
}

static int
host_read_sanitize_output(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_LIST || n->len > SANITIZE_BITS)
                return wrong_list(r, n, "sanitize_output",
                                  "this is a list of control, hidden, secrets");
        node_each(item, n)
        {
                unsigned bit = spec_sanitize_bit(item);

                if (bit == 0)
                        return host_reading_wrong(r, item, "sanitize_output", "choice",
                                                  "this must be control, hidden or secrets");
                r->rules->sanitize |= bit;
        }
        return 0;
}

static int
host_read_mount_roots(struct host_reading *r, const struct node *n)
{
        return read_roots(r, n, "mount_roots", &r->rules->mount_roots);
}

static int
host_read_tool_roots(struct host_reading *r, const struct node *n)
{
        return read_roots(r, n, "tool_roots", &r->rules->tool_roots);
}

static int
host_read_commands(struct host_reading *r, const struct node *n)
{
        bool is_known;
        const struct node *fault = commands_find_fault(n, &is_known);
        char path[96];

        if (!fault) {
                r->rules->commands = n;
                return 0;
        }
        (void)snprintf(path, sizeof path, "commands%s%.64s", fault == n ? "" : "/",
                       fault == n ? "" : fault->key);
        (void)host_reading_wrong(r, fault, path, is_known ? "type" : "unknown_field",
                                 !is_known    ? "there is no such field; docs/POLICY.md lists them"
                                 : fault == n ? "this is a map; docs/POLICY.md lists its fields"
                                              : "this is not a value of it");
        if (is_known && fault != n)
                error_hint(r->e,
                           "A list is written %.64s: [%.100s]. docs/POLICY.md has the values "
                           "of every field.",
                           fault->key, fault->kind == NODE_STRING ? fault->text : "NAME");
        return -1;
}

static int
host_read_workspace(struct host_reading *r, const struct node *n)
{
        r->rules->has_workspace = n->kind != NODE_NULL;
        if (n->kind == NODE_NULL)
                return 0;
        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "workspace", "type", "this is a map or null");
        node_each(member, n)
        {
                if (strcmp(member->key, "storage_read_only") != 0 || member->kind != NODE_BOOL)
                        return host_reading_wrong(
                                r, member, "workspace", "unknown_field",
                                "its one member is storage_read_only: true or false");
                r->rules->storage_is_read_only = member->boolean;
        }
        return 0;
}

static int
host_read_secrets(struct host_reading *r, const struct node *n)
{
        struct host_inventory *inventories;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "secrets", "type",
                                          "this is a map from refs to what they declare");
        inventories = arena_array(r->arena, struct host_inventory, n->len + 1);
        if (!inventories)
                return host_reading_no_memory(r->e);
        node_each(member, n) if (host_inventory_entry(r->arena, member, &inventories[count++],
                                                      r->e) < 0) return -1;
        r->rules->inventories = inventories;
        r->rules->inventory_count = count;
        return 0;
}

static int
host_read_secrets_file(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING || n->len == 0)
                return host_reading_wrong(r, n, "secrets_file", "type",
                                          "this is the path of a file");
        r->rules->secrets_file = n->text;
        return 0;
}

static int
host_read_machine_kernel(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING || n->len == 0 || n->text[0] != '/')
                return host_reading_wrong(r, n, "machine_kernel", "type",
                                          "this is the absolute path of a file");
        r->rules->machine_kernel = n->text;
        return 0;
}

static int
host_read_secret_sources(struct host_reading *r, const struct node *n)
{
        return host_sources_read(r->arena, n, &r->rules->sources, r->e);
}

static int
host_read_actors(struct host_reading *r, const struct node *n)
{
        return host_actors_read(r->arena, n, &r->rules->actors, &r->rules->actor_count, r->e);
}

static int
read_mountable(struct host_reading *r, const struct node *n, struct host_mountable *ret)
{
        *ret = (struct host_mountable){ .ref = n->key,
                                        .is_ambiguous = node_is_text(n, "ambiguous") };
        if (ret->is_ambiguous)
                return 0;
        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "mountables", "type",
                                          "this is a map, or the word ambiguous");
        node_each(member, n)
        {
                if (strcmp(member->key, "read_only") == 0 && member->kind == NODE_BOOL)
                        ret->is_read_only = member->boolean;
                else if (strcmp(member->key, "path") == 0 && member->kind == NODE_STRING &&
                         member->text[0] == '/')
                        ret->path = member->text;
                else
                        return host_reading_wrong(
                                r, member, "mountables", "unknown_field",
                                "its members are read_only: true or false, and path: an "
                                "absolute directory");
        }
        return 0;
}

static int
host_read_mountables(struct host_reading *r, const struct node *n)
{
        struct host_mountable *items;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "mountables", "type",
                                          "this is a map from refs to what may be mounted");
        items = arena_array(r->arena, struct host_mountable, n->len + 1);
        if (!items)
                return host_reading_no_memory(r->e);
        node_each(member, n) if (read_mountable(r, member, &items[count++]) < 0) return -1;
        r->rules->mountables = items;
        r->rules->mountable_count = count;
        return 0;
}

static int
host_read_policies(struct host_reading *r, const struct node *n)
{
        struct host_policy *items;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "policies", "type",
                                          "this is a map from refs to policy bodies");
        items = arena_array(r->arena, struct host_policy, n->len + 1);
        if (!items)
                return host_reading_no_memory(r->e);
        node_each(member, n)
        {
                if (member->kind != NODE_MAP)
                        return host_reading_wrong(r, member, "policies", "type",
                                                  "a policy body is a map");
                items[count++] = (struct host_policy){ member->key, member };
        }
        r->rules->policies = items;
        r->rules->policy_count = count;
        return 0;
}

static int
leave_to_ref(struct host_reading *r, const struct node *n)
{
        (void)r;
        (void)n;
        return 0;
}

#define host_read_registry leave_to_ref
#define host_read_files leave_to_ref
#define host_read_siblings leave_to_ref
static int (*const readers[HOST_FIELD_MAX])(struct host_reading *r, const struct node *n) = {
#define HOST_FIELD(name, shape, is_users, help) [HOST_FIELD_##name] = host_read_##name,
#include "policy/host_fields.def"
#undef HOST_FIELD
};

static int
read_field(struct host_reading *r, const struct node *member)
{
        enum host_field field = host_field_find(member->key);
        struct nearest nearest;

        if (field != HOST_FIELD_MAX)
                return readers[field](r, member);
        (void)host_reading_wrong(r, member, member->key, "unknown_field",
                                 "a host file has no such field");
        nearest = nearest_begin(member->key);
        for (int i = 0; i < HOST_FIELD_MAX; i++)
                (void)nearest_try(&nearest, host_field_row((enum host_field)i)->name,
                                  host_field_row((enum host_field)i)->name);
        if (nearest.found)
                error_hint(r->e, "Did you mean `%s`? `carrel schema --host` prints every field.",
                           nearest.found);
        else
                error_hint(r->e, "`carrel schema --host` prints every field, and docs/HOST.md "
                                 "explains them.");
        return -1;
}

int
host_rules_read(struct arena *arena, const struct node *root, const char *principal,
                struct host_rules **ret, struct error *e)
{
        struct host_reading r = { arena, host_rules_new(arena, principal), e };

        if (!r.rules)
                return host_reading_no_memory(e);
        if (root->kind != NODE_MAP)
                return host_reading_wrong(&r, root, "", "type", "a host file is a map");
        node_each(member, root) if (read_field(&r, member) < 0) return -1;
        *ret = r.rules;
        return 0;
}
