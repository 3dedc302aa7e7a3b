/*
 * policy/host_rules.c - what this host permits, as data.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows the fields of a host file. Knows nothing of where the file lies or which user runs this.
 * Theory: one row for each field. An unknown field is an error, because a misspelt permission or
 * prohibition must not be ignored silently.
 */
#include "policy/host_rules.h"

#include <stdio.h>
#include <string.h>

#include "egress/address.h"
#include "policy/host_fields.h"
#include "spec/approve.h"
#include "spec/provider.h"
#include "spec/section.h"
#include "text/nearest.h"
#include "text/redact_group.h"

enum { NAMES_MAX = 4096 };

struct reading {
        struct arena *arena;
        struct host_rules *rules;
        struct error *e;
};

static int
out_of_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
}

static int
wrong(struct reading *r, const struct node *n, const char *path, const char *reason,
      const char *message)
{
        (void)fail_at(r->e, ERROR_SCHEMA_INVALID, path, reason, "%s: %s", path, message);
        r->e->line = n->line;
        r->e->column = n->column;
        error_hint(r->e, "Correct the host file.");
        return -1;
}

/* -- lists of words and of destinations -------------------------------------------------------- */

static int
read_names(struct reading *r, const struct node *n, const char *path, struct spec_names *ret)
{
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > NAMES_MAX)
                return wrong(r, n, path, "type", "this is a list of words");
        items = arena_array(r->arena, const char *, n->len + 1);
        if (!items)
                return out_of_memory(r->e);
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0)
                        return wrong(r, item, path, "type", "each entry is a word");
                items[count++] = item->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_roots(struct reading *r, const struct node *n, const char *path, struct spec_names *ret)
{
        if (read_names(r, n, path, ret) < 0)
                return -1;
        for (size_t i = 0; i < ret->count; i++)
                if (ret->items[i][0] != '/' ||
                    !host_path_is_below(&(struct spec_names){ &ret->items[i], 1 }, ret->items[i]))
                        return wrong(
                                r, n, path, "pattern",
                                "each entry is an absolute path without \"..\", \".\" or \"//\"");
        return 0;
}

static int
read_destinations(struct reading *r, const struct node *n, const char *path,
                  int (*read)(struct arena *arena, const char *text, struct spec_egress *ret,
                              struct error *e),
                  const struct spec_egress **ret, size_t *ret_count)
{
        struct spec_names words;
        struct spec_egress *entries;

        if (read_names(r, n, path, &words) < 0)
                return -1;
        entries = arena_array(r->arena, struct spec_egress, words.count + 1);
        if (!entries)
                return out_of_memory(r->e);
        for (size_t i = 0; i < words.count; i++)
                if (read(r->arena, words.items[i], &entries[i], r->e) < 0)
                        return error_wrap(r->e, "%s/%zu", path, i);
        *ret = entries;
        *ret_count = words.count;
        return 0;
}

/* -- the fields -------------------------------------------------------------------------------- */

static int
read_trust(struct reading *r, const struct node *n)
{
        if (!node_is_text(n, "trusted") && !node_is_text(n, "untrusted"))
                return wrong(r, n, "trust", "enum", "this is trusted or untrusted");
        r->rules->is_trusted = node_is_text(n, "trusted");
        return 0;
}

static int
read_principal(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING || n->len == 0 || strcmp(n->text, "*") == 0)
                return wrong(r, n, "principal", "type", "this is the name of one principal");
        r->rules->principal = n->text;
        return 0;
}

static int
read_providers(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return wrong(r, n, "providers", "type",
                             "this is a map from provider ids to abilities");
        node_each(member, n)
        {
                const char *path = arena_format(r->arena, "providers/%s", member->key);
                struct host_ability can;
                int rc;

                if (!path)
                        return out_of_memory(r->e);
                if (host_ability_read(r->arena, member, path, &can, r->e) < 0)
                        return -1;
                /* an exact reserved id is described; another spelling of it conflicts */
                if (host_provider_describe(&r->rules->providers, r->arena, member->key, &can,
                                           r->e) == 0)
                        continue;
                rc = host_provider_register(&r->rules->providers, r->arena, member->key, &can,
                                            r->e);
                if (rc < 0) {
                        r->e->line = member->key_line;
                        r->e->column = member->key_column;
                        return -1;
                }
        }
        return 0;
}

static int
read_egress_allowed(struct reading *r, const struct node *n)
{
        r->rules->has_egress_list = true;
        return read_destinations(r, n, "egress_allowed", egress_permitted_read,
                                 &r->rules->egress_allowed, &r->rules->egress_allowed_count);
}

static int
read_private_names(struct reading *r, const struct node *n)
{
        return read_destinations(r, n, "private_names", egress_private_read,
                                 &r->rules->private_names, &r->rules->private_name_count);
}

static int
read_host_ports(struct reading *r, const struct node *n)
{
        struct spec_egress *ports;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > NAMES_MAX)
                return wrong(r, n, "host_ports", "type", "this is a list of ports");
        ports = arena_array(r->arena, struct spec_egress, n->len + 1);
        if (!ports)
                return out_of_memory(r->e);
        node_each(item, n)
        {
                if (item->kind != NODE_INT || item->integer < 1 || item->integer > UINT16_MAX)
                        return wrong(r, item, "host_ports", "range",
                                     "each entry is a port, 1 to 65535");
                ports[count++] = egress_host_port((uint16_t)item->integer);
        }
        r->rules->host_ports = ports;
        r->rules->host_port_count = count;
        return 0;
}

/*
 * "192.0.2.1:53" or "[2001:db8::1]:53": an address, because a name needs a resolver first.
 */
bool
host_resolver_check(const char *text)
{
        const char *colon = strrchr(text, ':');
        bool is_bracketed = text[0] == '[';
        struct egress_network one;
        char address[64];
        size_t len;
        uint32_t port = 0;

        if (!colon || colon[1] == '\0' || strlen(colon + 1) > 5 || colon[1] == '0')
                return false;
        for (const char *c = colon + 1; *c != '\0'; c++) {
                if (*c < '0' || *c > '9')
                        return false;
                port = port * 10 + (uint32_t)(*c - '0');
        }
        len = (size_t)(colon - text);
        if (is_bracketed && (len < 2 || text[len - 1] != ']'))
                return false;
        len -= is_bracketed ? 2 : 0;
        if (port > UINT16_MAX || len == 0 || len >= sizeof address)
                return false;
        memcpy(address, text + is_bracketed, len);
        address[len] = '\0';
        return !strchr(address, '/') && is_bracketed == (strchr(address, ':') != NULL) &&
               egress_network_read(address, &one);
}

static int
read_resolvers(struct reading *r, const struct node *n)
{
        if (read_names(r, n, "resolvers", &r->rules->resolvers) < 0)
                return -1;
        for (size_t i = 0; i < r->rules->resolvers.count; i++)
                if (!host_resolver_check(r->rules->resolvers.items[i]))
                        return wrong(r, n, "resolvers", "pattern",
                                     "each entry is an address and a port: 192.0.2.1:53 or "
                                     "[2001:db8::1]:53");
        return 0;
}

/* Adds the entries of `path` to the networks, with `sign` before each. */
static int
read_networks(struct reading *r, const struct node *n, const char *path, const char *sign)
{
        struct spec_names names, *all = &r->rules->networks;
        const char **items;
        struct egress_network network;

        if (read_names(r, n, path, &names) < 0)
                return -1;
        items = arena_array(r->arena, const char *, all->count + names.count + 1);
        if (!items)
                return out_of_memory(r->e);
        for (size_t i = 0; i < all->count; i++)
                items[i] = all->items[i];
        for (size_t i = 0; i < names.count; i++) {
                if (!egress_network_read(names.items[i], &network))
                        return wrong(r, n, path, "pattern",
                                     "each entry is a network: 10.0.0.0/8 or fd00::/8");
                items[all->count + i] = arena_format(r->arena, "%s%s", sign, names.items[i]);
                if (!items[all->count + i])
                        return out_of_memory(r->e);
        }
        *all = (struct spec_names){ items, all->count + names.count };
        return 0;
}

static int
read_private_networks(struct reading *r, const struct node *n)
{
        return read_networks(r, n, "private_networks", "");
}

static int
read_denied_networks(struct reading *r, const struct node *n)
{
        return read_networks(r, n, "denied_networks", "!");
}

static const struct field *
find_cap(const char *name)
{
        for (size_t i = 0; i < egress_caps_set.count; i++)
                if (strcmp(egress_caps_set.rows[i].name, name) == 0)
                        return &egress_caps_set.rows[i];
        return NULL;
}

static int
read_egress_caps(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return wrong(r, n, "egress_caps", "type", "this is a map from caps to numbers");
        node_each(member, n)
        {
                const struct field *row = find_cap(member->key);
                const char *path = arena_format(r->arena, "egress_caps/%s", member->key);
                uint64_t value = (uint64_t)member->integer;
                char bounds[96];

                if (!path)
                        return out_of_memory(r->e);
                if (!row)
                        return wrong(r, member, path, "unknown_field",
                                     "the caps are connections, names, bytes_out, bytes_in and "
                                     "bytes_per_second");
                (void)snprintf(bounds, sizeof bounds,
                               "this must be a whole number from %llu to %llu",
                               (unsigned long long)row->min, (unsigned long long)row->max);
                if (member->kind != NODE_INT || member->integer < (int64_t)row->min ||
                    member->integer > (int64_t)row->max)
                        return wrong(r, member, path, "range", bounds);
                memcpy((char *)&r->rules->egress_caps + row->offset, &value, sizeof value);
        }
        return 0;
}

static int
read_limits_max(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return wrong(r, n, "limits_max", "type", "this is a map from limits to numbers");
        node_each(member, n)
        {
                const struct field *row = host_limits_find(member->key);
                const char *path = arena_format(r->arena, "limits_max/%s", member->key);
                uint64_t value = (uint64_t)member->integer;

                if (!path)
                        return out_of_memory(r->e);
                if (!row)
                        return wrong(r, member, path, "unknown_field",
                                     "its fields are those of limits and of metadata.carrel.limits "
                                     "in a manifest");
                if (member->kind != NODE_INT || member->integer < (int64_t)row->min ||
                    member->integer > (int64_t)row->max)
                        return wrong(r, member, path, "range",
                                     "this is a whole number within the bounds that a manifest has "
                                     "for it");
                memcpy((char *)&r->rules->limits.each + row->offset, &value, sizeof value);
        }
        return 0;
}

static int
read_count(struct reading *r, const struct node *n, int64_t least, int64_t most, uint64_t *ret)
{
        if (n->kind != NODE_INT || n->integer < least || n->integer > most)
                return wrong(r, n, n->key, "range",
                             arena_format(r->arena, "this is a whole number from %lld to %lld",
                                          (long long)least, (long long)most));
        *ret = (uint64_t)n->integer;
        return 0;
}

static int
read_sandboxes_max(struct reading *r, const struct node *n)
{
        return read_count(r, n, 1, HOST_SANDBOXES_MAX, &r->rules->limits.sandboxes);
}

static int
read_execs_max(struct reading *r, const struct node *n)
{
        return read_count(r, n, 1, HOST_EXECS_MAX, &r->rules->limits.execs);
}

static int
read_volumes_max(struct reading *r, const struct node *n)
{
        return read_count(r, n, 0, HOST_VOLUMES_MAX, &r->rules->limits.volumes);
}

static int
read_audit(struct reading *r, const struct node *n)
{
        struct spec_names words;

        if (read_names(r, n, "audit", &words) < 0)
                return -1;
        for (size_t i = 0; i < words.count; i++)
                if (strcmp(words.items[i], "run") != 0 && strcmp(words.items[i], "content") != 0)
                        return wrong(r, n, "audit", "enum", "each entry is run, or content");
        r->rules->audits_run = host_names_have(&words, "run");
        r->rules->keeps_content = host_names_have(&words, "content");
        if (r->rules->keeps_content && !r->rules->audits_run)
                return wrong(r, n, "audit", "enum",
                             "content is kept of recorded commands only: write [run, content]");
        return 0;
}

static int
read_audit_retention(struct reading *r, const struct node *n)
{
        static const uint64_t day_ms = 24ull * 3600 * 1000;
        uint64_t days = 0;
        size_t len = n->kind == NODE_STRING ? n->len : 0;

        /* at most five digits, and the unit */
        if (len >= 2 && len <= 6 && n->text[len - 1] == 'd' && n->text[0] != '0')
                for (size_t i = 0; i + 1 < len; i++) {
                        if (n->text[i] < '0' || n->text[i] > '9')
                                return wrong(r, n, "audit_retention", "pattern",
                                             "this is a number of days, as 30d");
                        days = days * 10 + (uint64_t)(n->text[i] - '0');
                }
        if (days == 0)
                return wrong(r, n, "audit_retention", "pattern",
                             "this is a number of days, as 30d");
        r->rules->audit_keep_ms = days * day_ms;
        return 0;
}

static int
read_risk(struct reading *r, const struct node *n)
{
        if (!node_is_text(n, "required") && !node_is_text(n, "optional"))
                return wrong(r, n, "risk", "enum", "this is required or optional");
        r->rules->needs_risk = node_is_text(n, "required");
        return 0;
}

static int
read_audit_executions(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_BOOL)
                return wrong(r, n, "audit_executions", "type", "this is true or false");
        r->rules->ignores_executions = !n->boolean;
        return 0;
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
read_redact_group(struct reading *r, const struct node *n)
{
        char path[64];
        int i = 0;

        (void)snprintf(path, sizeof path, "redact/%.40s", n->key);
        while (i < REDACT_GROUP_MAX && strcmp(redact_groups[i].name, n->key) != 0)
                i++;
        if (i == REDACT_GROUP_MAX)
                return wrong(r, n, path, "unknown_field",
                             "the groups are credentials, personal and financial");
        if (n->kind != NODE_BOOL)
                return wrong(r, n, path, "type", "this is true or false");
        if (!n->boolean && !redact_groups[i].can_be_off)
                return wrong(r, n, path, "required",
                             "keys, passwords and tokens are always removed; remove this line");
        r->rules->redact_off |= n->boolean ? 0 : 1u << i;
        return 0;
}

static int
read_redact(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return wrong(r, n, "redact", "type",
                             "this is a map, for example {personal: false}");
        node_each(member, n) if (read_redact_group(r, member) < 0) return -1;
        return 0;
}

static int
read_passthrough_allow(struct reading *r, const struct node *n)
{
        return read_names(r, n, "passthrough_allow", &r->rules->passthrough_allow);
}

static int
read_approve(struct reading *r, const struct node *n)
{
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > SPEC_APPROVE_MAX)
                return wrong(r, n, "approve", "type", "this is a list of operations");
        items = arena_array(r->arena, const char *, n->len + 1);
        if (!items)
                return out_of_memory(r->e);
        node_each(item, n)
        {
                items[count] =
                        item->kind == NODE_STRING ? spec_approve_operation(item->text) : NULL;
                if (!items[count++])
                        return wrong(r, item, "approve", "choice",
                                     "this is not an operation that can wait: exec, file.write, "
                                     "network.set, ...");
        }
        r->rules->approve = (struct spec_names){ items, count };
        return 0;
}

static int
read_mount_roots(struct reading *r, const struct node *n)
{
        return read_roots(r, n, "mount_roots", &r->rules->mount_roots);
}

static int
read_tool_roots(struct reading *r, const struct node *n)
{
        return read_roots(r, n, "tool_roots", &r->rules->tool_roots);
}

static int
read_commands(struct reading *r, const struct node *n)
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
        return wrong(r, fault, path, is_known ? "type" : "unknown_field",
                     !is_known    ? "there is no such field; docs/POLICY.md lists them"
                     : fault == n ? "this is a map; docs/POLICY.md lists its fields"
                                  : "docs/POLICY.md says what its value can be");
}

static int
read_workspace(struct reading *r, const struct node *n)
{
        r->rules->has_workspace = n->kind != NODE_NULL;
        if (n->kind == NODE_NULL)
                return 0;
        if (n->kind != NODE_MAP)
                return wrong(r, n, "workspace", "type", "this is a map or null");
        node_each(member, n)
        {
                if (strcmp(member->key, "storage_read_only") != 0 || member->kind != NODE_BOOL)
                        return wrong(r, member, "workspace", "unknown_field",
                                     "its one member is storage_read_only: true or false");
                r->rules->storage_is_read_only = member->boolean;
        }
        return 0;
}

static int
read_secrets(struct reading *r, const struct node *n)
{
        struct host_inventory *inventories;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return wrong(r, n, "secrets", "type",
                             "this is a map from refs to what they declare");
        inventories = arena_array(r->arena, struct host_inventory, n->len + 1);
        if (!inventories)
                return out_of_memory(r->e);
        node_each(member, n) if (host_inventory_entry(r->arena, member, &inventories[count++],
                                                      r->e) < 0) return -1;
        r->rules->inventories = inventories;
        r->rules->inventory_count = count;
        return 0;
}

static int
read_secrets_file(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_STRING || n->len == 0)
                return wrong(r, n, "secrets_file", "type", "this is the path of a file");
        r->rules->secrets_file = n->text;
        return 0;
}

static int
read_secret_sources(struct reading *r, const struct node *n)
{
        return host_sources_read(r->arena, n, &r->rules->sources, r->e);
}

static int
read_actors(struct reading *r, const struct node *n)
{
        return host_actors_read(r->arena, n, &r->rules->actors, &r->rules->actor_count, r->e);
}

static int
read_mountable(struct reading *r, const struct node *n, struct host_mountable *ret)
{
        *ret = (struct host_mountable){ .ref = n->key,
                                        .is_ambiguous = node_is_text(n, "ambiguous") };
        if (ret->is_ambiguous)
                return 0;
        if (n->kind != NODE_MAP)
                return wrong(r, n, "mountables", "type", "this is a map, or the word ambiguous");
        node_each(member, n)
        {
                if (strcmp(member->key, "read_only") == 0 && member->kind == NODE_BOOL)
                        ret->is_read_only = member->boolean;
                else if (strcmp(member->key, "path") == 0 && member->kind == NODE_STRING &&
                         member->text[0] == '/')
                        ret->path = member->text;
                else
                        return wrong(r, member, "mountables", "unknown_field",
                                     "its members are read_only: true or false, and path: an "
                                     "absolute directory");
        }
        return 0;
}

static int
read_mountables(struct reading *r, const struct node *n)
{
        struct host_mountable *items;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return wrong(r, n, "mountables", "type",
                             "this is a map from refs to what may be mounted");
        items = arena_array(r->arena, struct host_mountable, n->len + 1);
        if (!items)
                return out_of_memory(r->e);
        node_each(member, n) if (read_mountable(r, member, &items[count++]) < 0) return -1;
        r->rules->mountables = items;
        r->rules->mountable_count = count;
        return 0;
}

static int
read_policies(struct reading *r, const struct node *n)
{
        struct host_policy *items;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return wrong(r, n, "policies", "type", "this is a map from refs to policy bodies");
        items = arena_array(r->arena, struct host_policy, n->len + 1);
        if (!items)
                return out_of_memory(r->e);
        node_each(member, n)
        {
                if (member->kind != NODE_MAP)
                        return wrong(r, member, "policies", "type", "a policy body is a map");
                items[count++] = (struct host_policy){ member->key, member };
        }
        r->rules->policies = items;
        r->rules->policy_count = count;
        return 0;
}

static int
leave_to_ref(struct reading *r, const struct node *n)
{
        (void)r;
        (void)n;
        return 0;
}

#define read_registry leave_to_ref
#define read_files leave_to_ref
#define read_siblings leave_to_ref
static int (*const readers[HOST_FIELD_MAX])(struct reading *r, const struct node *n) = {
#define HOST_FIELD(name, shape, is_users, help) [HOST_FIELD_##name] = read_##name,
#include "policy/host_fields.def"
#undef HOST_FIELD
};

static int
read_field(struct reading *r, const struct node *member)
{
        enum host_field field = host_field_find(member->key);
        struct nearest nearest;

        if (field != HOST_FIELD_MAX)
                return readers[field](r, member);
        (void)wrong(r, member, member->key, "unknown_field", "a host file has no such field");
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

static const char *const tool_roots[] = { "/opt", "/usr/local", "/nix/store" };

const struct spec_names host_tool_roots = { tool_roots, sizeof tool_roots / sizeof tool_roots[0] };

static struct host_rules *
rules_new(struct arena *arena, const char *principal)
{
        struct host_rules *rules = arena_new(arena, struct host_rules);

        if (!rules)
                return NULL;
        rules->has_workspace = true;
        fields_default(&egress_caps_set, &rules->egress_caps);
        rules->limits = host_limits_none();
        rules->usage = (struct grant_usage){ GRANT_USAGE_UNKNOWN, GRANT_USAGE_UNKNOWN,
                                             GRANT_USAGE_UNKNOWN };
        rules->principal = arena_text(arena, principal);
        return rules->principal ? rules : NULL;
}

int
host_rules_read(struct arena *arena, const struct node *root, const char *principal,
                struct host_rules **ret, struct error *e)
{
        struct reading r = { arena, rules_new(arena, principal), e };

        if (!r.rules)
                return out_of_memory(e);
        if (root->kind != NODE_MAP)
                return wrong(&r, root, "", "type", "a host file is a map");
        node_each(member, root) if (read_field(&r, member) < 0) return -1;
        *ret = r.rules;
        return 0;
}

int
host_rules_default(struct arena *arena, const struct host_ability *machine, const char *principal,
                   struct host_rules **ret, struct error *e)
{
        const struct provider *standard = provider_find(PROVIDER_STANDARD);
        struct host_ability can = host_ability_of(standard, machine);
        struct host_rules *rules = rules_new(arena, principal);

        if (!rules)
                return out_of_memory(e);
        if (host_provider_describe(&rules->providers, arena, standard->id, &can, e) < 0)
                return -1;
        rules->tool_roots = host_tool_roots;
        *ret = rules;
        return 0;
}

static void
bound(struct host_rules *rules, const char *id, const struct host_ability *real)
{
        for (size_t i = 0; i < rules->providers.count; i++)
                if (strcmp(rules->providers.items[i].id, id) == 0)
                        host_ability_bound(&rules->providers.items[i].can, real);
}

/* -- inventories ------------------------------------------------------------------------------- */

const struct host_inventory *
host_rules_inventory(const struct host_rules *rules, const char *ref)
{
        for (size_t i = 0; i < rules->inventory_count; i++)
                if (strcmp(rules->inventories[i].ref, ref) == 0)
                        return &rules->inventories[i];
        return NULL;
}

int
host_rules_add_inventory(struct arena *arena, struct host_rules *rules,
                         const struct host_inventory *inventory, struct error *e)
{
        const struct host_inventory *said = host_rules_inventory(rules, inventory->ref);
        struct host_inventory *items =
                arena_array(arena, struct host_inventory, rules->inventory_count + 1);
        size_t count = 0;

        if (!items)
                return out_of_memory(e);
        for (size_t i = 0; i < rules->inventory_count; i++)
                if (&rules->inventories[i] != said)
                        items[count++] = rules->inventories[i];
        items[count] = *inventory;
        if (said) {
                items[count].may_reveal = said->may_reveal && inventory->may_reveal;
                items[count].deny_bind = said->deny_bind;
                if (said->binding_count > 0) {
                        items[count].bindings = said->bindings;
                        items[count].binding_count = said->binding_count;
                }
                if (said->restricted.count > 0) {
                        items[count].restricted = said->restricted;
                        items[count].grants = said->grants;
                        items[count].grant_count = said->grant_count;
                }
        }
        rules->inventories = items;
        rules->inventory_count = count + 1;
        return 0;
}

struct host_asking
host_rules_asking(const struct host_rules *rules)
{
        return (struct host_asking){ rules->actor ? rules->actor : rules->principal,
                                     rules->actor == NULL, rules->actors, rules->actor_count };
}

const char *
host_inventory_slug(const struct host_inventory *inventory, struct arena *arena, const char *name)
{
        char *slug;

        for (size_t i = 0; i < inventory->binding_count; i++)
                if (strcmp(inventory->bindings[i].name, name) == 0)
                        return inventory->bindings[i].slug;
        slug = arena_text(arena, name);
        for (char *c = slug; c && *c != '\0'; c++) {
                if (*c >= 'A' && *c <= 'Z')
                        *c = (char)(*c - 'A' + 'a');
                else if (*c == '_')
                        *c = '-';
        }
        return slug;
}

/* -- mounts ------------------------------------------------------------------------------------ */

const struct host_mountable *
host_rules_mountable(const struct host_rules *rules, const char *ref)
{
        for (size_t i = 0; i < rules->mountable_count; i++)
                if (strcmp(rules->mountables[i].ref, ref) == 0)
                        return &rules->mountables[i];
        return NULL;
}

bool
host_names_have(const struct spec_names *names, const char *text)
{
        for (size_t i = 0; i < names->count; i++)
                if (strcmp(names->items[i], text) == 0)
                        return true;
        return false;
}

static bool
path_is_normal(const char *path)
{
        const char *at = path;

        if (*at != '/')
                return false;
        while (*at == '/') {
                size_t len = strcspn(++at, "/");

                if (len == 0 && *at == '/')
                        return false;
                if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
                        return false;
                at += len;
        }
        return true;
}

bool
host_path_is_below(const struct spec_names *roots, const char *path)
{
        if (!path_is_normal(path))
                return false;
        for (size_t i = 0; i < roots->count; i++) {
                size_t len = strlen(roots->items[i]);

                while (len > 0 && roots->items[i][len - 1] == '/')
                        len--;
                if (strncmp(path, roots->items[i], len) == 0 &&
                    (path[len] == '\0' || path[len] == '/'))
                        return true;
        }
        return false;
}

const char *
host_mount_path(const struct host_rules *rules, const struct spec_mount *mount)
{
        const struct host_mountable *mountable;
        const struct node *path;

        switch (mount->kind) {
        case SPEC_SOURCE_WORKSPACE:
                return ".";
        case SPEC_SOURCE_REF:
        case SPEC_SOURCE_FILE:
                mountable = host_rules_mountable(rules, mount->ref);
                return mountable ? mountable->path : NULL;
        case SPEC_SOURCE_INLINE:
                path = node_find(mount->storage_config, "path");
                if (!path)
                        path = node_find(mount->storage_config, "root");
                return path && path->kind == NODE_STRING ? path->text : NULL;
        }
        return NULL;
}

void
host_rules_bound(struct host_rules *rules, const struct host_ability *machine)
{
        for (size_t i = 0; i < provider_count; i++) {
                const struct host_ability can = host_ability_of(&providers[i], machine);

                if (providers[i].engine != PROVIDER_ENGINE_NONE)
                        bound(rules, providers[i].id, &can);
        }
}
