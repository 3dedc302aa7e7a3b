/*
 * policy/authorise.c - judges a checked spec against what the host permits.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows specs, host rules and grants. Knows nothing of files, sockets or how a provider does its
 * work.
 * Theory: a series of checks, each of which adds its findings. Only an unknown provider ends the
 * series early, because every later check depends on what that provider can do.
 */
#include "policy/authorise.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/choose.h"
#include "policy/host_destination.h"
#include "policy/rate.h"
#include "policy/requirement.h"
#include "spec/approve.h"
#include "spec/provider.h"
#include "spec/section.h"

enum { POLICIES_MAX = 64 };

struct asking {
        struct arena *arena;
        const struct spec *spec;
        const struct host_rules *rules;
        const struct host_ability *can;
        const char *tier;  /* of the provider with this config; NULL: not stated */
        bool is_elsewhere; /* the provider is a program, and its network is not this machine's */
        int64_t now_s;
        struct spec *result;       /* the copy being built */
        struct spec_mount *mounts; /* its mounts */
        struct findings *findings;
        const char *hint; /* for the next refusal; NULL: the code's own */
};

static void refuse(struct asking *a, enum error_code code, const char *path, const char *reason,
                   struct spec_place place, const char *fmt, ...)
        __attribute__((format(printf, 6, 7)));

static void
refuse(struct asking *a, enum error_code code, const char *path, const char *reason,
       struct spec_place place, const char *fmt, ...)
{
        struct error e;
        va_list ap;
        char *text;

        va_start(ap, fmt);
        text = arena_alloc(a->arena, sizeof e.message);
        if (text)
                (void)vsnprintf(text, sizeof e.message, fmt, ap);
        va_end(ap);
        (void)fail_at(&e, code, path, reason, "%s", text ? text : "refused");
        e.line = place.line;
        e.column = place.column;
        if (a->hint)
                error_hint(&e, "%s", a->hint);
        a->hint = NULL;
        findings_add(a->findings, &e);
}

/* Sets the hint of the next refusal: the command that permits `value`, or the list to add it to. */
static void
hint_allow(struct asking *a, const char *what, const char *list, const char *value)
{
        a->hint = a->rules->allow ? arena_format(a->arena, "To permit it, run: %s %s %s",
                                                 a->rules->allow, what, value)
                                  : arena_format(a->arena,
                                                 "To permit it, add \"%s\" to %s in the host file.",
                                                 value, list);
}

static const char *
numbered(struct asking *a, const char *list, size_t index, const char *tail)
{
        const char *path = arena_format(a->arena, "%s/%zu%s", list, index, tail);

        return path ? path : list;
}

/* -- provider and limits ----------------------------------------------------------------------- */

static void
ask_trust(struct asking *a)
{
        if (a->rules->is_trusted || a->can->is_isolated)
                return;
        a->hint = arena_format(a->arena,
                               "A host file that lists providers states what each isolates: "
                               "providers: {%.64s: {isolated: true}}. `carrel doctor` shows what "
                               "this machine can isolate.",
                               a->spec->provider);
        refuse(a, ERROR_PROVIDER_UNTRUSTED, "provider", "", a->spec->provider_place,
               "the provider \"%.64s\" does not isolate, and this manifest is not trusted",
               a->spec->provider);
}

static void
refuse_tier(struct asking *a, const char *least, const char *path, const char *reason,
            struct spec_place place)
{
        refuse(a, ERROR_PROVIDER_UNTRUSTED, path, reason, place,
               "the provider \"%.64s\" %s%s, and %s is the least tier%s", a->spec->provider,
               a->tier ? "has tier " : "states no tier", a->tier ? a->tier : "", least,
               least == a->rules->least_tier ? " of this host" : "");
}

/* Never a silent step down. */
static void
ask_tier(struct asking *a)
{
        if (!provider_reaches(a->tier, a->spec->carrel.tier)) {
                a->hint = "`carrel providers` lists the tier of each provider of this host.";
                refuse_tier(a, a->spec->carrel.tier, "metadata/carrel/tier", "tier",
                            a->spec->carrel.tier_place);
        }
        if (!provider_reaches(a->tier, a->rules->least_tier)) {
                a->hint =
                        "The operator wrote least_tier in the host file. `provider: " PROVIDER_AUTO
                        "` takes the cheapest provider that reaches it.";
                refuse_tier(a, a->rules->least_tier, "provider", "least_tier",
                            a->spec->provider_place);
        }
}

struct limit_row {
        const char *name, *path;
        size_t value;   /* offset in struct spec_limits */
        size_t ability; /* offset in struct host_ability */
};

#define LIMIT(field, path, ability)                                \
        {                                                          \
#field, path, offsetof(struct spec_limits, field), \
                        offsetof(struct host_ability, ability)     \
        }
static const struct limit_row limit_rows[] = {
        LIMIT(timeout_ms, "limits/timeout_ms", caps_time),
        LIMIT(memory_mb, "limits/memory_mb", caps_memory),
        LIMIT(cpu_ms, "limits/cpu_ms", caps_cpu),
        LIMIT(cpu_millicores, "metadata/carrel/limits/cpu_millicores", caps_millicores),
        LIMIT(pids, "metadata/carrel/limits/pids", caps_pids),
        LIMIT(open_files, "metadata/carrel/limits/open_files", caps_files),
        LIMIT(io_read_bps, "metadata/carrel/limits/io_read_bps", caps_io),
        LIMIT(io_write_bps, "metadata/carrel/limits/io_write_bps", caps_io),
        LIMIT(disk_mb, "metadata/carrel/limits/disk_mb", caps_disk),
        LIMIT(output_bytes, "metadata/carrel/limits/output_bytes", caps_output),
};
#undef LIMIT

static void
refuse_limit(struct asking *a, const struct field *row, const char *section, uint64_t asked,
             uint64_t most)
{
        const char *path = arena_format(a->arena, "%s/%s", section, row->name);
        struct error e;

        (void)fail_at(&e, ERROR_POLICY_DENIED, path ? path : section, "limits_max",
                      "%s is %llu, and this host permits at most %llu", row->name,
                      (unsigned long long)asked, (unsigned long long)most);
        error_hint(
                &e,
                "Ask for %llu or less, or have the operator raise limits_max.%s in the host file.",
                (unsigned long long)most, row->name);
        findings_add(a->findings, &e);
}

/*
 * A limit that was not asked for, or a default, is lowered to the host's maximum. A written limit
 * above it is refused.
 */
static void
ask_limits_max(struct asking *a)
{
        const struct field *row;
        const char *section;

        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++) {
                uint64_t most, given;

                memcpy(&most, (const char *)&a->rules->limits.each + row->offset, sizeof most);
                memcpy(&given, (const char *)&a->spec->limits + row->offset, sizeof given);
                if (given <= most)
                        continue;
                if (given != row->fallback ||
                    (row->offset == offsetof(struct spec_limits, timeout_ms) &&
                     a->spec->limits.is_timeout_given))
                        refuse_limit(a, row, section, given, most);
                memcpy((char *)&a->result->limits + row->offset, &most, sizeof most);
        }
        a->result->limits.timeout_max_ms = a->rules->limits.each.timeout_ms;
}

static void
ask_limits(struct asking *a)
{
        for (size_t i = 0; i < sizeof limit_rows / sizeof limit_rows[0]; i++) {
                const struct limit_row *row = &limit_rows[i];
                const char *name;
                uint64_t value;
                bool is_able;

                memcpy(&value, (const char *)&a->result->limits + row->value, sizeof value);
                memcpy(&is_able, (const char *)a->can + row->ability, sizeof is_able);
                if (value == SPEC_UNSET || is_able)
                        continue;
                name = arena_format(a->arena, "limit_unenforceable:%s", row->name);
                findings_warn(a->findings, name ? name : "limit_unenforceable", row->path, 0, 0,
                              "the provider \"%.64s\" cannot enforce %s on this host",
                              a->spec->provider, row->name);
        }
}

/* -- network ----------------------------------------------------------------------------------- */

static void
ask_destination(struct asking *a, size_t index)
{
        const struct spec_egress *entry = &a->spec->egress[index];
        enum host_destination judged = host_destination_judge(a->rules, entry);
        char text[EGRESS_TEXT_ROOM], path[EGRESS_PATH_ROOM];

        if (judged == HOST_DESTINATION_PRIVATE && strcmp(entry->host, "localhost") == 0)
                a->hint = arena_format(
                        a->arena,
                        "Inside, localhost is the sandbox itself. To reach a port of this machine, "
                        "write metadata: {carrel: {egress: {host_ports: [%u]}}} in SANDBOX.md.",
                        entry->ports[0]);
        else if (judged == HOST_DESTINATION_PRIVATE)
                hint_allow(a, "name", "private_names", egress_text(entry, text));
        if (judged == HOST_DESTINATION_HOST_PORT)
                a->hint = a->rules->allow
                                  ? arena_format(a->arena, "To permit it, run: %s host-port %u",
                                                 a->rules->allow, entry->ports[0])
                                  : arena_format(a->arena,
                                                 "To permit it, add %u to host_ports in the host "
                                                 "file: `host_ports: [%u]`.",
                                                 entry->ports[0], entry->ports[0]);
        if (judged == HOST_DESTINATION_NOT_LISTED && egress_is_host(entry->host))
                a->hint = arena_format(a->arena,
                                       "To permit it, add \"%s\" to egress_allowed in the host "
                                       "file, beside host_ports.",
                                       egress_text(entry, text));
        if (judged != HOST_DESTINATION_PERMITTED)
                refuse(a, ERROR_EGRESS_NOT_PERMITTED, egress_path(entry, path),
                       host_destination_reason(judged),
                       (struct spec_place){ entry->line, entry->column }, "%s %s",
                       egress_text(entry, text), host_destination_words(judged));
}

static void
ask_egress_ability(struct asking *a)
{
        if (a->can->egress == HOST_EGRESS_NONE)
                refuse(a, ERROR_EGRESS_UNENFORCEABLE, "network/egress", "", a->spec->provider_place,
                       "the provider \"%.64s\" cannot restrict the network, so it is not used at "
                       "all",
                       a->spec->provider);
        else if (a->can->egress == HOST_EGRESS_CLOSED && a->spec->egress_count > 0)
                refuse(a, ERROR_EGRESS_UNENFORCEABLE, "network/egress", "",
                       (struct spec_place){ a->spec->egress[0].line, a->spec->egress[0].column },
                       "the provider \"%.64s\" can keep the network shut here, but cannot open it "
                       "for listed names alone",
                       a->spec->provider);
}

/* The host's cap applies if it is smaller; a warning reports it if the manifest asked for more. */
static void
ask_egress_caps(struct asking *a)
{
        struct spec_egress_caps *caps = &a->result->egress_caps;

        egress_caps_narrow(caps, &a->rules->egress_caps);
        for (size_t i = 0; i < egress_caps_set.count; i++) {
                const struct field *row = &egress_caps_set.rows[i];
                const char *path = arena_format(a->arena, "metadata/carrel/egress/%s", row->name);
                uint64_t asked, given;

                memcpy(&asked, (const char *)&a->spec->egress_caps + row->offset, sizeof asked);
                memcpy(&given, (const char *)caps + row->offset, sizeof given);
                if (asked != SPEC_UNSET && given < asked)
                        findings_warn(a->findings, "egress_cap_narrowed",
                                      path ? path : "metadata/carrel/egress", 0, 0,
                                      "this host permits %s of %llu at most", row->name,
                                      (unsigned long long)given);
        }
}

static void
ask_egress(struct asking *a)
{
        ask_egress_ability(a);
        ask_egress_caps(a);
        for (size_t i = 0; i < a->spec->egress_count; i++)
                ask_destination(a, i);
}

/* -- environment ------------------------------------------------------------------------------- */

static void
ask_secret(struct asking *a, const struct host_inventory *inventory, size_t index)
{
        const struct spec_secret_name *wanted = &a->spec->env.auth[index];
        const char *path = numbered(a, "env/auth/state/env", index, "");
        const char *slug = host_inventory_slug(inventory, a->arena, wanted->name);
        const struct host_asking asking = host_rules_asking(a->rules);
        const struct host_grant *grant;

        if (!slug || !host_names_have(&inventory->slugs, slug))
                refuse(a, ERROR_AUTH_UNRESOLVABLE, path, "no_slug", wanted->place,
                       "%s needs the secret \"%s\", which %s does not declare", wanted->name,
                       slug ? slug : "", inventory->ref);
        else if (host_names_have(&inventory->deny_bind, slug))
                refuse(a, ERROR_AUTH_UNRESOLVABLE, path, "bind_denied", wanted->place,
                       "the secret \"%s\" may not be bound into a sandbox", slug);
        else if (!host_secret_granted(inventory, slug, &asking, &grant))
                refuse(a, ERROR_AUTH_UNRESOLVABLE, path, "bind_denied", wanted->place,
                       "no grant gives %.64s access to the secret \"%s\"", asking.user, slug);
}

/*
 * A provider's own credential. If the manifest's inventory declares it, that inventory's rules
 * apply. Otherwise it is the host's, and the host is asked when the provider starts.
 */
static void
ask_reference(struct asking *a, const struct node *setting)
{
        const struct host_inventory *inventory =
                a->spec->env.auth_ref ? host_rules_inventory(a->rules, a->spec->env.auth_ref)
                                      : NULL;
        const struct host_asking asking = host_rules_asking(a->rules);
        const struct spec_place place = { setting->line, setting->column };
        const char *path = arena_format(a->arena, "config/%s", setting->key);
        const struct host_grant *grant;

        if (!path || !inventory || !host_names_have(&inventory->slugs, setting->text))
                return;
        if (!inventory->may_reveal)
                refuse(a, ERROR_AUTH_UNRESOLVABLE, path, "not_authorised", place,
                       "the owner of this workspace is not authorised to reveal %s",
                       inventory->ref);
        else if (host_names_have(&inventory->deny_bind, setting->text) ||
                 !host_secret_granted(inventory, setting->text, &asking, &grant))
                refuse(a, ERROR_AUTH_UNRESOLVABLE, path, "bind_denied", place,
                       "the secret \"%s\" may not be used here", setting->text);
}

static void
ask_references(struct asking *a)
{
        if (!a->spec->config || a->spec->config->kind != NODE_MAP)
                return;
        node_each(setting, a->spec->config)
        {
                size_t len = strlen(setting->key);

                if (setting->kind == NODE_STRING && len > 4 &&
                    strcmp(setting->key + len - 4, "_ref") == 0)
                        ask_reference(a, setting);
        }
}

static void
ask_secrets(struct asking *a)
{
        const struct spec_env *env = &a->spec->env;
        const struct host_inventory *inventory;

        if (!env->auth_ref) {
                if (env->auth_count > 0)
                        refuse(a, ERROR_AUTH_UNRESOLVABLE, "env/auth/ref", "missing_ref",
                               env->auth[0].place,
                               "env.auth names secrets, but not the SECRETS.md that declares them");
                return;
        }
        inventory = host_rules_inventory(a->rules, env->auth_ref);
        if (!inventory) {
                refuse(a, ERROR_AUTH_UNRESOLVABLE, "env/auth/ref", "not_found", env->auth_place,
                       "%s was not found", env->auth_ref);
                return;
        }
        if (!inventory->may_reveal) {
                refuse(a, ERROR_AUTH_UNRESOLVABLE, "env/auth/ref", "not_authorised",
                       env->auth_place,
                       "the owner of this workspace is not authorised to reveal %s", env->auth_ref);
                return;
        }
        for (size_t i = 0; i < env->auth_count; i++)
                ask_secret(a, inventory, i);
}

bool
authorise_name_is_denied(const char *name)
{
        static const char *const parts[] = { "KEY",   "TOKEN",      "SECRET",
                                             "PASSW", "CREDENTIAL", "PRIVATE" };
        static const char *const whole[] = {
                "BASH_ENV", "ENV", "SHELLOPTS", "PYTHONSTARTUP", "NODE_OPTIONS", "GCONV_PATH", "IFS"
        };

        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
                for (const char *at = name; *at != '\0'; at++)
                        if (strncasecmp(at, parts[i], strlen(parts[i])) == 0)
                                return true;
        for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
                if (strcasecmp(name, whole[i]) == 0)
                        return true;
        return strncasecmp(name, "LD_", 3) == 0;
}

static void
ask_passthrough(struct asking *a)
{
        for (size_t i = 0; i < a->spec->env.passthrough_count; i++) {
                const struct spec_secret_name *name = &a->spec->env.passthrough[i];

                if (host_sources_have_variable(&a->rules->sources, name->name)) {
                        refuse(a, ERROR_PASSTHROUGH_DENIED, numbered(a, "env/passthrough", i, ""),
                               "secret", name->place,
                               "%s is where this host keeps a secret: name it in env.auth",
                               name->name);
                        continue;
                }
                if (!authorise_name_is_denied(name->name) ||
                    host_names_have(&a->rules->passthrough_allow, name->name))
                        continue;
                refuse(a, ERROR_PASSTHROUGH_DENIED, numbered(a, "env/passthrough", i, ""), "",
                       name->place,
                       "%s may carry a credential or steer a loader, so it is not passed through",
                       name->name);
        }
}

/* -- mounts and tools -------------------------------------------------------------------------- */

static bool
mount_is_narrowed(struct asking *a, const struct spec_mount *mount)
{
        const struct host_mountable *mountable;

        switch (mount->kind) {
        case SPEC_SOURCE_WORKSPACE:
                return a->rules->storage_is_read_only;
        case SPEC_SOURCE_INLINE:
                return mount->storage_read_only;
        case SPEC_SOURCE_REF:
        case SPEC_SOURCE_FILE:
                mountable = host_rules_mountable(a->rules, mount->ref);
                return mountable && mountable->is_read_only;
        }
        return true;
}

static void
ask_mountable(struct asking *a, const struct spec_mount *mount, const char *path)
{
        const struct host_mountable *mountable = host_rules_mountable(a->rules, mount->ref);

        if (!mountable)
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "not_found", mount->place,
                       "this host knows no workspace or storage \"%s\"", mount->ref);
        else if (mountable->is_ambiguous)
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "ambiguous_kind", mount->place,
                       "\"%s\" names a workspace and a storage", mount->ref);
}

static bool
path_climbs(const char *path)
{
        for (const char *at = path; *at != '\0'; at += strspn(at, "/")) {
                size_t len = strcspn(at, "/");

                if (len == 2 && at[0] == '.' && at[1] == '.')
                        return true;
                at += len;
        }
        return false;
}

/* The number of existing volumes is checked when the volume is created. */
static void
ask_volume(struct asking *a, const char *name, const char *path, struct spec_place place)
{
        if (a->rules->limits.volumes == 0)
                refuse(a, ERROR_MOUNT_DENIED, path, "volumes_max", place,
                       "this host permits no volumes (volumes_max: 0), and this names %.64s", name);
}

static void
ask_inline_storage(struct asking *a, const struct spec_mount *mount, const char *path)
{
        const char *from = host_mount_path(a->rules, mount);

        if (mount->volume) {
                ask_volume(a, mount->volume, path, mount->place);
        } else if (strcmp(mount->storage_provider, "local-fs") != 0 &&
                   strcmp(mount->storage_provider, "dev-local") != 0) {
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "provider_no_mounts", mount->place,
                       "storage of the kind \"%.64s\" cannot be mounted here; local-fs, dev-local "
                       "and " SPEC_VOLUME " can",
                       mount->storage_provider);
        } else if (!from || *from == '\0') {
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "not_found", mount->place,
                       "the config of %.64s storage names a directory: path",
                       mount->storage_provider);
        } else if (*from != '/') {
                if (!a->rules->has_workspace)
                        refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "no_parent_workspace",
                               mount->place,
                               "a relative path needs a workspace, and this run has none");
                else if (path_climbs(from))
                        refuse(a, ERROR_MOUNT_DENIED, path, "outside_workspace", mount->place,
                               "\"%s\" leads out of the workspace", from);
        } else if (!host_path_is_below(&a->rules->mount_roots, from)) {
                hint_allow(a, "mount", "mount_roots", from);
                refuse(a, ERROR_MOUNT_DENIED, path, "not_in_mount_roots", mount->place,
                       "\"%s\" is below none of the host's mount_roots", from);
        }
}

static void
ask_mount(struct asking *a, size_t index)
{
        struct spec_mount *mount = &a->mounts[index];
        const char *path = numbered(a, "mounts", index, "/source");

        if (!a->can->can_mount)
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "provider_no_mounts", mount->place,
                       "the provider \"%.64s\" has no mounts", a->spec->provider);
        else if (mount->kind == SPEC_SOURCE_INLINE)
                ask_inline_storage(a, mount, path);
        else if (mount->kind != SPEC_SOURCE_WORKSPACE)
                ask_mountable(a, mount, path);
        else if (!a->rules->has_workspace)
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, path, "no_parent_workspace", mount->place,
                       "`source: workspace` needs a parent workspace, and this run has none");

        if (mount->is_read_only || !mount_is_narrowed(a, mount))
                return;
        mount->is_read_only = true;
        findings_warn(a->findings, "mount_mode_narrowed", numbered(a, "mounts", index, "/mode"),
                      mount->place.line, mount->place.column,
                      "the storage behind %s is read-only, so the mount is", mount->at);
}

static void
ask_mounts(struct asking *a)
{
        for (size_t i = 0; i < a->spec->mount_count; i++)
                ask_mount(a, i);
        if (a->spec->carrel.home && !a->can->can_mount)
                refuse(a, ERROR_MOUNT_UNRESOLVABLE, "metadata/carrel/home", "provider_no_mounts",
                       a->spec->carrel.home_place, "the provider \"%.64s\" has no mounts",
                       a->spec->provider);
        else if (a->spec->carrel.home)
                ask_volume(a, a->spec->carrel.home, "metadata/carrel/home",
                           a->spec->carrel.home_place);
}

static void
ask_tools(struct asking *a)
{
        for (size_t i = 0; i < a->spec->carrel.tools.count; i++) {
                const char *path = a->spec->carrel.tools.items[i];

                if (host_path_is_below(&a->rules->tool_roots, path))
                        continue;
                hint_allow(a, "tool", "tool_roots", path);
                refuse(a, ERROR_MOUNT_DENIED, numbered(a, "metadata/carrel/tools", i, ""),
                       "not_in_tool_roots", (struct spec_place){ 0, 0 },
                       "\"%s\" is below none of the host's tool_roots", path);
        }
}

static void
ask_lifecycle(struct asking *a)
{
        if (!a->spec->lifecycle.pause_event || a->can->can_pause)
                return;
        a->result->lifecycle.pause_event = NULL;
        a->result->lifecycle.pause_idle_ms = SPEC_UNSET;
        findings_warn(a->findings, "lifecycle_ignored", "lifecycle/pause_after_idle", 0, 0,
                      "the provider \"%.64s\" cannot pause, so it will not", a->spec->provider);
}

/* -- policy ------------------------------------------------------------------------------------ */

struct bodies {
        struct grant_policy items[POLICIES_MAX];
        size_t count;
};

static int
add_policy(struct asking *a, struct bodies *b, const struct node *n, const char *path)
{
        const struct node *body = host_policy_body(a->rules, n);

        if (!body || b->count == POLICIES_MAX) {
                refuse(a, ERROR_POLICY_UNRESOLVABLE, path, "",
                       (struct spec_place){ n->line, n->column },
                       body ? "a sandbox has at most 64 policies"
                            : "this host does not know the policy named here");
                return -1;
        }
        b->items[b->count++] = (struct grant_policy){ body, path };
        return 0;
}

static int
gather_policies(struct asking *a, struct bodies *b)
{
        const struct node *n = a->spec->policy;
        size_t index = 0;

        if (n->kind != NODE_LIST)
                return add_policy(a, b, n, "policy");
        node_each(item,
                  n) if (add_policy(a, b, item, numbered(a, "policy", index++, "")) < 0) return -1;
        return 0;
}

static void
ask_action(struct asking *a, const struct bodies *b, const char *action)
{
        const struct grant_request request = { a->rules->principal, action, a->now_s,
                                               a->rules->usage };
        struct grant_decision d = grant_decide(a->arena, b->items, b->count, &request, a->findings);

        if (!d.is_allowed)
                refuse(a, ERROR_POLICY_DENIED, "policy", action, a->spec->policy_place,
                       "policy does not grant %s to %s (%s)", action, d.principal, d.reason);
}

/* Whoever runs the sandbox asks for these approvals. */
static int
keep_requirements(struct asking *a, const struct bodies *b)
{
        struct spec_approval_from *kept =
                arena_array(a->arena, struct spec_approval_from, SPEC_APPROVAL_FROM_MAX);

        if (!kept)
                return -1;
        a->result->approval_from = kept;
        for (size_t i = 0; i < b->count; i++)
                if (requirement_collect(a->arena, b->items[i].body, kept,
                                        &a->result->approval_from_count) < 0)
                        return -1;
        return 0;
}

/* Whoever runs the sandbox counts its calls. */
static int
keep_rates(struct asking *a, const struct bodies *b)
{
        struct spec_rate *kept = arena_array(a->arena, struct spec_rate, SPEC_RATES_MAX);

        if (!kept)
                return -1;
        a->result->rates = kept;
        for (size_t i = 0; i < b->count; i++)
                if (rate_collect(b->items[i].body, kept, &a->result->rate_count) < 0)
                        return -1;
        return 0;
}

/* The gate of this machine counts these bytes. */
static void
keep_day_bytes(struct asking *a, const struct bodies *b)
{
        uint64_t max = SPEC_UNSET;

        for (size_t i = 0; i < b->count; i++)
                rate_day_bytes_collect(b->items[i].body, &max);
        a->result->egress_day_bytes = max;
        if (max != SPEC_UNSET && a->is_elsewhere && a->spec->egress_count > 0)
                refuse(a, ERROR_POLICY_DENIED, "policy", "limit-exceeded", a->spec->policy_place,
                       "the policy limits the bytes of a day (" RATE_DAY_BYTES_KIND
                       "), and nothing counts those of the provider \"%.64s\": its network is not "
                       "this machine's",
                       a->spec->provider);
}

/* A part of a block is never taken from a policy: what a block does not ask for it does not get. */
static void
warn_of_defaults(struct asking *a, const struct bodies *b)
{
        for (size_t i = 0; i < b->count; i++) {
                const struct node *n = node_find(b->items[i].body, "defaults");
                const char *path = arena_format(a->arena, "%s/defaults", b->items[i].path);

                if (n && n->kind == NODE_MAP && n->len > 0)
                        findings_warn(a->findings, "policy_defaults_ignored",
                                      path ? path : "policy", n->line, n->column,
                                      "the defaults of a policy are not applied: write what the "
                                      "sandbox needs in its own block");
        }
}

/* No policy at all: the owner of the machine may do it, and the owner is the one who asks. */
static void
ask_policy(struct asking *a)
{
        struct bodies *b;

        if (!a->spec->policy)
                return;
        b = arena_new(a->arena, struct bodies);
        if (!b || gather_policies(a, b) < 0)
                return;
        warn_of_defaults(a, b);
        ask_action(a, b, "sandbox:execute");
        if (a->spec->egress_count > 0)
                ask_action(a, b, "sandbox:network-egress");
        if (keep_requirements(a, b) < 0)
                refuse(a, ERROR_POLICY_DENIED, "policy", "requirements", a->spec->policy_place,
                       "policies require at most %d approvals", SPEC_APPROVAL_FROM_MAX);
        if (keep_rates(a, b) < 0)
                refuse(a, ERROR_POLICY_DENIED, "policy", "limits", a->spec->policy_place,
                       "policies have at most %d limits on the rate of calls", SPEC_RATES_MAX);
        keep_day_bytes(a, b);
}

/* -- the series of checks ---------------------------------------------------------------------- */

static void (*const questions[])(struct asking *a) = {
        ask_trust,      ask_tier,        ask_limits_max, ask_limits, ask_egress, ask_secrets,
        ask_references, ask_passthrough, ask_mounts,     ask_tools,  ask_policy, ask_lifecycle,
};

static int
copy_spec(struct asking *a, struct error *e)
{
        a->result = arena_new(a->arena, struct spec);
        a->mounts = arena_array(a->arena, struct spec_mount, a->spec->mount_count + 1);
        if (!a->result || !a->mounts)
                return fail(e, ERROR_NO_MEMORY, "no memory for the judged spec");
        *a->result = *a->spec;
        if (a->spec->mount_count > 0)
                memcpy(a->mounts, a->spec->mounts, sizeof *a->mounts * a->spec->mount_count);
        a->result->mounts = a->mounts;
        return 0;
}

static int
find_provider(struct asking *a)
{
        const struct host_provider *provider =
                host_provider_find(&a->rules->providers, a->spec->provider);

        if (!provider && a->rules->providers.count == 0) {
                struct error e;

                (void)fail_at(&e, ERROR_PROVIDER_UNKNOWN, "provider", NULL,
                              "this host has no provider \"%.64s\": its host file registers none",
                              a->spec->provider);
                error_hint(&e, "Add to the host file, for example: providers: {" PROVIDER_STANDARD
                               ": {isolated: true, mounts: true}}");
                e.line = a->spec->provider_place.line;
                e.column = a->spec->provider_place.column;
                findings_add(a->findings, &e);
                return -1;
        }
        if (!provider) {
                a->hint = "Write: provider: " PROVIDER_STANDARD
                          ". `carrel providers` lists the providers of this "
                          "host.";
                if (provider_is_reserved(a->spec->provider))
                        a->hint = arena_format(a->arena,
                                               "Register it in the host file, under providers: "
                                               "{%.64s: {isolated: true}}.%s",
                                               a->spec->provider,
                                               strcmp(a->spec->provider, PROVIDER_STANDARD) == 0
                                                       ? ""
                                                       : " Or write: provider: " PROVIDER_STANDARD);
                refuse(a, ERROR_PROVIDER_UNKNOWN, "provider", "", a->spec->provider_place,
                       "this host has no provider \"%.64s\"", a->spec->provider);
                return -1;
        }
        a->can = &provider->can;
        a->tier = host_provider_tier(provider, a->spec->config);
        a->is_elsewhere = provider->program.argv.count > 0;
        return 0;
}

int
authorise(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
          int64_t now_s, const struct spec **ret_spec, struct findings *findings, struct error *e)
{
        struct asking a = {
                .arena = arena, .spec = spec, .rules = rules, .now_s = now_s, .findings = findings
        };
        size_t errors_before = findings->error_count;

        if (choose_provider(arena, rules, &a.spec, findings, e) < 0 || copy_spec(&a, e) < 0)
                return -1;
        if (find_provider(&a) == 0)
                for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
                        questions[i](&a);
        if (arena_is_full(arena))
                return fail(e, ERROR_NO_MEMORY, "no memory to judge the sandbox");
        if (findings->error_count > errors_before)
                return findings_verdict(findings, e);
        *ret_spec = a.result;
        return 0;
}
