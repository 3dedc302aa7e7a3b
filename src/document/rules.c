/*
 * document/rules.c - the rules between fields: tiers, egress, timeouts, snapshots, logs, threats.
 *
 * Room: document (deciding, pure). Touches: mem.
 * Theory: a rule that needs a value of a kind is silent about a value of another kind, because the
 * table of fields reports it. A list that a rule looks for names in counts as empty then.
 */
#include "document/rules.h"

#include <stdint.h>
#include <string.h>

#include "document/value.h"

struct judging {
        const struct node *root;
        const struct document_options *options;
        struct document_findings *f;
};

/* The field of a section, or NULL. */
static const struct node *
field(const struct judging *j, const char *section, const char *name)
{
        return node_find(node_find(j->root, section), name);
}

static bool
is_true(const struct node *n)
{
        return n && n->kind == NODE_BOOL && n->boolean;
}

static bool
is_false(const struct node *n)
{
        return n && n->kind == NODE_BOOL && !n->boolean;
}

static bool
is_word(const struct node *n)
{
        return n && n->kind == NODE_STRING && document_is_present(n);
}

static void
error(const struct judging *j, const char *code, const char *path, const struct node *where,
      const char *message)
{
        document_find(j->f, true, code, path, where, message);
}

static void
warn(const struct judging *j, const char *code, const char *path, const struct node *where,
     const char *message)
{
        document_find(j->f, false, code, path, where, message);
}

/* -- the boundary ------------------------------------------------------------------------------ */

static void
runtime_check(const struct judging *j)
{
        const struct node *tier_node = field(j, "isolation", "tier");
        const struct node *class = field(j, "isolation", "runtime_class");
        const struct node *other = field(j, "identity", "runtime_class");
        unsigned tier = document_tier(tier_node), most;

        if (!is_word(class))
                return;
        if (is_word(other) && !document_is_name(class->text, other->text))
                error(j, "runtime_class_mismatch", "isolation.runtime_class", class,
                      "identity.runtime_class has another value");
        most = document_runtime_tier(class->text);
        if (most == 0)
                warn(j, "runtime_class_unknown", "isolation.runtime_class", class,
                     "the tier table does not have this runtime class");
        else if (tier > most)
                error(j, "tier_inflation", "isolation.tier", tier_node,
                      arena_format(j->f->arena, "this runtime class is at most T%u", most));
        else if (tier != 0 && tier < most)
                warn(j, "tier_understated", "isolation.tier", tier_node,
                     arena_format(j->f->arena, "this runtime class is T%u", most));
}

static void
kernel_check(const struct judging *j)
{
        const struct node *shared = field(j, "isolation", "shared_kernel");
        const struct node *tenants = field(j, "isolation", "multi_tenant");
        unsigned tier = document_tier(field(j, "isolation", "tier"));

        if (tier != 0 && (tier <= 2 ? is_false(shared) : is_true(shared)))
                error(j, "shared_kernel_inconsistent", "isolation.shared_kernel", shared,
                      arena_format(j->f->arena, "T%u %s the kernel of the host", tier,
                                   tier <= 2 ? "shares" : "does not share"));
        if (tier != 0 && tier <= 2 && is_true(tenants))
                warn(j, "multi_tenant_low_tier", "isolation.multi_tenant", tenants,
                     "the tenants share one kernel");
}

/* -- files and network ------------------------------------------------------------------------- */

/* The next component of a path, without empty ones and "."; *ret_len 0: none is left. */
static const char *
component(const char *path, size_t *ret_len)
{
        for (;;) {
                path += strspn(path, "/");
                *ret_len = strcspn(path, "/");
                if (*ret_len != 1 || path[0] != '.')
                        return path;
                path++;
        }
}

static bool
is_same_path(const char *a, const char *b)
{
        for (;;) {
                size_t a_len, b_len;

                a = component(a, &a_len);
                b = component(b, &b_len);
                if (a_len != b_len || memcmp(a, b, a_len) != 0)
                        return false;
                if (a_len == 0)
                        return true;
                a += a_len;
                b += b_len;
        }
}

static void
paths_check(const struct judging *j)
{
        const struct node *writable = field(j, "filesystem", "writable_paths");
        const struct node *fixed = field(j, "filesystem", "read_only_paths");

        if (!writable || !fixed || writable->kind != NODE_LIST || fixed->kind != NODE_LIST)
                return;
        node_each(a, writable) node_each(b, fixed)
        {
                if (a->kind != NODE_STRING || b->kind != NODE_STRING || a->text[0] != '/' ||
                    b->text[0] != '/' || !is_same_path(a->text, b->text))
                        continue;
                error(j, "path_overlap", "filesystem", b,
                      "a path is in writable_paths and in read_only_paths");
                return;
        }
}

/* "*", "*.*", "a*b", and networks of every address. "*.example.com" names a domain. */
static bool
is_everything(const char *host)
{
        const char *star = strchr(host, '*');
        size_t len = strlen(host);

        if (star)
                return star != host || host[1] != '.' || host[2] == '\0' || strchr(star + 1, '*');
        return len > 2 && strcmp(host + len - 2, "/0") == 0;
}

static void
egress_check(const struct judging *j)
{
        const struct node *list = field(j, "network", "egress_allowlist");
        size_t index = 0;

        if (!list || list->kind != NODE_LIST)
                return;
        node_each(entry, list)
        {
                const struct node *host = node_find(entry, "host");
                size_t at = index++;

                if (host && host->kind == NODE_STRING && is_everything(host->text))
                        error(j, "egress_not_explicit",
                              arena_format(j->f->arena, "network.egress_allowlist[%zu]", at), host,
                              "this names no host");
        }
}

/* -- time -------------------------------------------------------------------------------------- */

static void
layers_check(const struct judging *j)
{
        static const char *const names[] = { "per_tool_call", "per_task_loop",
                                             "per_sandbox_lifetime" };
        const struct node *timeouts = field(j, "resources", "timeouts");
        uint64_t before = 0;

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const struct node *n = node_find(timeouts, names[i]);
                uint64_t ms;

                if (!n || n->kind != NODE_STRING || !document_duration(n->text, &ms))
                        continue;
                if (ms < before) {
                        warn(j, "timeouts_not_layered", "resources.timeouts", n,
                             arena_format(j->f->arena, "%s is shorter than a layer below it",
                                          names[i]));
                        return;
                }
                before = ms;
        }
}

static void
percentiles_check(const struct judging *j)
{
        const struct node *median = field(j, "lifecycle", "cold_start_p50_ms");
        const struct node *high = field(j, "lifecycle", "cold_start_p99_ms");

        if (median && high && (median->kind == NODE_INT || median->kind == NODE_FLOAT) &&
            (high->kind == NODE_INT || high->kind == NODE_FLOAT) && high->real < median->real)
                error(j, "percentiles_inverted", "lifecycle.cold_start_p99_ms", high,
                      "it is below cold_start_p50_ms");
}

/* -- state, tools, logs ------------------------------------------------------------------------ */

static void
snapshot_check(const struct judging *j)
{
        static const char path[] = "state.snapshot_encryption_at_rest";
        const struct node *encrypted = field(j, "state", "snapshot_encryption_at_rest");
        unsigned tier = document_tier(field(j, "isolation", "tier"));

        if (tier < 3 || !is_false(encrypted))
                return;
        if (is_false(field(j, "state", "snapshot_supported")) && !j->options->is_literal)
                warn(j, "snapshot_encryption_not_applicable", path, encrypted,
                     "there are no snapshots to encrypt");
        else
                error(j, "snapshot_unencrypted", path, encrypted,
                      arena_format(j->f->arena, "snapshots of a T%u are encrypted at rest", tier));
}

static void
packages_check(const struct judging *j)
{
        const struct node *list = field(j, "tools", "installed_packages");
        size_t index = 0;

        if (!list || list->kind != NODE_LIST)
                return;
        node_each(item, list)
        {
                const char *colon = item->kind == NODE_STRING ? strchr(item->text, ':') : NULL;
                size_t at = index++;

                if (is_word(item) && (!colon || colon == item->text || colon[1] == '\0'))
                        warn(j, "package_without_version",
                             arena_format(j->f->arena, "tools.installed_packages[%zu]", at), item,
                             "a package without a version");
        }
}

static void
log_check(const struct judging *j)
{
        const struct node *fixed = field(j, "audit", "log_immutability");

        if (is_false(fixed))
                document_find(j->f, !j->options->is_draft, "log_mutable", "audit.log_immutability",
                              fixed, "a log that can be changed proves nothing");
}

/* -- threats ----------------------------------------------------------------------------------- */

static bool
has_input(const struct node *list, const char *class)
{
        if (!list || list->kind != NODE_LIST)
                return false;
        node_each(item, list)
        {
                const char *of =
                        item->kind == NODE_STRING ? document_input_class(item->text) : NULL;

                if (of && strcmp(of, class) == 0)
                        return true;
        }
        return false;
}

/* A risk of the list may go on after the name: "data_exfiltration via allowed APIs". */
static bool
has_risk(const struct node *list, const char *risk)
{
        char name[DOCUMENT_NAME_MAX];

        if (!list || list->kind != NODE_LIST)
                return false;
        node_each(item, list) if (item->kind == NODE_STRING &&
                                  strncmp(document_name(item->text, name, sizeof name), risk,
                                          strlen(risk)) == 0) return true;
        return false;
}

static void
threats_check(const struct judging *j)
{
        static const struct {
                const char *field, *code, *name;
                bool (*has)(const struct node *list, const char *name);
        } rows[] = {
                { "untrusted_inputs", "untrusted_input_missing", "external_content", has_input },
                { "untrusted_inputs", "untrusted_input_missing", "mcp_responses", has_input },
                { "untrusted_inputs", "untrusted_input_missing", "repository_files", has_input },
                { "in_scope_risks", "in_scope_risk_missing", "indirect_prompt_injection",
                  has_risk },
                { "in_scope_risks", "in_scope_risk_missing", "data_exfiltration", has_risk },
                { "in_scope_risks", "in_scope_risk_missing", "resource_exhaustion", has_risk },
        };
        const struct node *section = node_find(j->root, "threat_model");

        if (!section || section->kind != NODE_MAP || section->len == 0)
                return;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct node *list = node_find(section, rows[i].field);

                if (!rows[i].has(list, rows[i].name))
                        error(j, rows[i].code,
                              arena_format(j->f->arena, "threat_model.%s:%s", rows[i].field,
                                           rows[i].name),
                              list ? list : section,
                              arena_format(j->f->arena, "%s is not listed", rows[i].name));
        }
}

/* Returns whether it is a control of the vocabulary. */
static bool
control_check(const struct judging *j, const struct node *item, const char *path)
{
        const struct node *name = item->kind == NODE_MAP ? node_find(item, "control") : item;
        const struct node *enforced = node_find(item, "enforced");

        if (enforced && enforced->kind != NODE_BOOL && !node_is_text(enforced, "enforced") &&
            !node_is_text(enforced, "configurable"))
                error(j, "invalid_value",
                      path ? arena_format(j->f->arena, "%s.enforced", path) : NULL, enforced,
                      "expected true, false, enforced or configurable");
        if (!name || !is_word(name)) {
                error(j, "invalid_value", path, item,
                      "expected a control, or {control: NAME, enforced: true}");
                return false;
        }
        if (document_is_control(name->text))
                return true;
        if (document_is_intent(name->text))
                warn(j, "control_is_intent", path, name, "this is an intent, and no mechanism");
        else
                warn(j, "control_unknown", path, name, "this control is not known");
        return false;
}

static void
controls_check(const struct judging *j)
{
        const struct node *list = field(j, "threat_model", "mandatory_controls");
        size_t index = 0, concrete = 0;

        if (!list || list->kind != NODE_LIST || list->len == 0)
                return;
        node_each(item, list) concrete += control_check(
                j, item,
                arena_format(j->f->arena, "threat_model.mandatory_controls[%zu]", index++));
        if (concrete == 0)
                error(j, "controls_not_concrete", "threat_model.mandatory_controls", list,
                      "none of these is a known control");
}

/* -- beside the sections ----------------------------------------------------------------------- */

static void
recommended_check(const struct judging *j)
{
        const struct node *cost = node_find(j->root, "cost_model");
        const struct node *cycle = node_find(j->root, "review_cycle_days");

        if (!j->options->is_draft && (!cost || !document_is_present(cost)))
                warn(j, "recommended_missing", "cost_model", j->root, "cost_model is not given");
        if (!j->options->is_draft && is_true(field(j, "isolation", "attestation_supported")) &&
            !node_find(j->root, "attestation_evidence_url"))
                warn(j, "recommended_missing", "attestation_evidence_url", j->root,
                     "attestation is supported, and its evidence is not named");
        if (cycle && cycle->kind == NODE_INT && cycle->integer > 90)
                warn(j, "review_cycle_too_long", "review_cycle_days", cycle,
                     "longer than a quarter");
}

static void (*const rules[])(const struct judging *j) = {
        runtime_check, kernel_check,      paths_check,    egress_check,
        layers_check,  percentiles_check, snapshot_check, packages_check,
        log_check,     threats_check,     controls_check, recommended_check,
};

void
document_rules_check(const struct node *root, const struct document_options *options,
                     struct document_findings *findings)
{
        const struct judging j = { root, options, findings };

        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
                rules[i](&j);
}
