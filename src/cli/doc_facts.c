/*
 * cli/doc_facts.c - what is known here of a sandbox, as parts of its document.
 *
 * Room: cli (joining). Touches: processes, fd, clock.
 * Theory: one function for each part, and nothing that is not read from the plan, the provider
 * table, a measurement or the sandbox itself. A cap that this host does not enforce is no part.
 */
#include "cli/doc_facts.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "cli/doc_packages.h"
#include "cli/doc_replay.h"
#include "cli/doc_rules.h"
#include "cli/doc_servers.h"
#include "cli/doc_streams.h"
#include "prepare/sanitize.h"
#include "spec/provider.h"
#include "text/json.h"
#include "text/sanitize.h"

typedef void (*writer)(const struct doc_facts *f, struct json_writer *w);

static void
add_json(struct doc_facts *f, const char *path, struct json_writer *w, const char *why)
{
        const char *json = w->is_broken || !w->text ? NULL : arena_text(f->arena, w->text);

        json_fini(w);
        if (f->count < DOC_PARTS_MAX)
                f->items[f->count++] = (struct document_part){ path, json, why };
}

static void
add(struct doc_facts *f, const char *path, writer write)
{
        struct json_writer w;

        json_init(&w, false);
        write(f, &w);
        add_json(f, path, &w, "no memory for this part");
}

static void
add_text(struct doc_facts *f, const char *path, const char *text)
{
        struct json_writer w;

        json_init(&w, false);
        json_text(&w, text);
        add_json(f, path, &w, "no memory for this part");
}

static void
add_bool(struct doc_facts *f, const char *path, bool value)
{
        struct json_writer w;

        json_init(&w, false);
        json_bool(&w, value);
        add_json(f, path, &w, "no memory for this part");
}

/* A part that would be known here, and is not. */
static void
add_nothing(struct doc_facts *f, const char *path, const char *why)
{
        if (f->count < DOC_PARTS_MAX)
                f->items[f->count++] = (struct document_part){ path, NULL, why };
}

/* -- identity and boundary --------------------------------------------------------------------- */

static void
add_identity(struct doc_facts *f)
{
        const struct spec *spec = f->way->p.spec;

        if (spec->id) {
                add_text(f, "identity.name", spec->id);
                add_text(f, "identity.id", spec->id);
        } else {
                add_nothing(f, "identity.name", "SANDBOX.md has no id");
                add_nothing(f, "identity.id", "SANDBOX.md has no id");
        }
        if (spec->version)
                add_text(f, "identity.version", spec->version);
        else
                add_nothing(f, "identity.version", "SANDBOX.md has no version");
}

static void
add_boundary(struct doc_facts *f)
{
        const struct spec *spec = f->way->p.spec;
        const struct provider *provider = provider_find(spec->provider);
        const struct host_provider *here =
                host_provider_find(&f->way->p.rules->providers, spec->provider);
        const char *tier = provider ? provider_tier(provider, spec->config) : NULL;
        const char *class = provider ? provider_class(provider, spec->config) : NULL;

        if (tier && class) {
                add_text(f, "identity.runtime_class", class);
                add_text(f, "isolation.runtime_class", class);
                add_text(f, "isolation.tier", tier);
                /* lint: the second letter of a tier is its number */
                add_bool(f, "isolation.shared_kernel", tier[1] <= '2');
        }
        add_bool(f, "isolation.attestation_supported", false);
        add_bool(f, "lifecycle.pause_resume_supported", here && here->can.can_pause);
        add_bool(f, "lifecycle.singleton_guarantee", false);
        add_bool(f, "state.snapshot_supported", false);
        add_bool(f, "state.snapshot_encryption_at_rest", false);
        add_text(f, "state.resumability", "none");
        add_text(f, "lifecycle.provisioning", "cold_start");
}

/* -- files ------------------------------------------------------------------------------------- */

/* With a mask, root of an image keeps capabilities: nothing is claimed then. */
static bool
has_step(const struct plan *plan, enum step_op op)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && (op != STEP_DROP_CAPS || plan->steps[i].number == 0))
                        return true;
        return false;
}

/* `user: root` may write to the image's root. */
static bool
is_root_open(const struct plan *plan)
{
        return has_step(plan, STEP_ROOTFS) && !has_step(plan, STEP_SEAL);
}

/* /dev and /sys of an image are private, and nobody but its root writes there. */
static bool
is_made(const struct step *s)
{
        return strcmp(s->path, "/dev") == 0 || strcmp(s->path, "/sys") == 0;
}

static bool
is_writable(const struct step *s)
{
        return (s->op == STEP_PRIVATE && !is_made(s)) || s->op == STEP_MQUEUE ||
               (s->op == STEP_BIND && s->source != STEP_NO_SOURCE && !(s->flags & STEP_READ_ONLY));
}

/* What belongs to the system's own directories is covered by their names. */
static bool
is_fixed(const struct step *s)
{
        static const char *const covered[] = { "/etc", "/dev", "/proc", "/sys", "/var" };

        if (s->op != STEP_FREEZE && s->op != STEP_OVERLAY &&
            !(s->op == STEP_BIND && (s->flags & STEP_READ_ONLY)))
                return false;
        for (size_t i = 0; i < sizeof covered / sizeof *covered; i++)
                if (path_below(s->path, covered[i]))
                        return false;
        return true;
}

static void
write_paths(const struct doc_facts *f, struct json_writer *w, bool (*wanted)(const struct step *))
{
        const struct plan *plan = f->way->p.plan;

        for (size_t i = 0; i < plan->step_count; i++)
                if (wanted(&plan->steps[i]))
                        json_text(w, plan->steps[i].path);
}

static void
write_writable(const struct doc_facts *f, struct json_writer *w)
{
        json_open_list(w);
        if (is_root_open(f->way->p.plan))
                json_text(w, "/");
        write_paths(f, w, is_writable);
        json_close_list(w);
}

static void
write_fixed(const struct doc_facts *f, struct json_writer *w)
{
        json_open_list(w);
        if (!is_root_open(f->way->p.plan))
                json_text(w, "/etc");
        write_paths(f, w, is_fixed);
        json_close_list(w);
}

static const char *
persistence(const struct plan *plan)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == STEP_BIND && is_writable(&plan->steps[i]))
                        return "persistent";
        return "ephemeral";
}

static void
add_files(struct doc_facts *f)
{
        const struct plan *plan = f->way->p.plan;

        add_text(f, "filesystem.root", plan->cwd);
        add(f, "filesystem.writable_paths", write_writable);
        add(f, "filesystem.read_only_paths", write_fixed);
        add_text(f, "filesystem.persistence", persistence(plan));
        if (plan->disk_mb != SPEC_UNSET)
                add_text(f, "filesystem.max_disk",
                         arena_format(f->arena, "%" PRIu64 "Mi", plan->disk_mb));
        else
                add_nothing(f, "filesystem.max_disk", "the private places have no cap");
}

/* -- network ----------------------------------------------------------------------------------- */

static const char *
host_text(const struct doc_facts *f, const struct spec_egress *entry)
{
        return arena_format(f->arena, "%s%s", entry->is_wildcard ? "*." : "", entry->host);
}

static void
write_egress(const struct doc_facts *f, struct json_writer *w)
{
        const struct spec *spec = f->way->p.spec;

        json_open_list(w);
        for (size_t i = 0; i < spec->egress_count; i++)
                for (size_t p = 0; p < spec->egress[i].port_count; p++) {
                        json_open_map(w);
                        json_member_text(w, "host", host_text(f, &spec->egress[i]));
                        json_member_int(w, "port", spec->egress[i].ports[p]);
                        json_member_text(w, "protocol", "tcp");
                        json_close_map(w);
                }
        json_close_list(w);
}

static void
write_names(const struct doc_facts *f, struct json_writer *w)
{
        const struct spec *spec = f->way->p.spec;
        const struct host_rules *rules = f->way->p.rules;

        json_open_map(w);
        json_member_text(w, "default", "deny");
        json_key(w, "allowlist");
        json_open_list(w);
        for (size_t i = 0; i < spec->egress_count; i++)
                json_text(w, host_text(f, &spec->egress[i]));
        json_close_list(w);
        if (rules->resolvers.count > 0) {
                json_key(w, "resolvers");
                json_open_list(w);
                for (size_t i = 0; i < rules->resolvers.count; i++)
                        json_text(w, rules->resolvers.items[i]);
                json_close_list(w);
        }
        json_close_map(w);
}

static void
write_none(const struct doc_facts *f, struct json_writer *w)
{
        (void)f;
        json_open_list(w);
        json_close_list(w);
}

static void
add_network(struct doc_facts *f)
{
        uint64_t rate = f->way->p.spec->egress_caps.bytes_per_second;

        add_text(f, "network.default", "deny");
        add(f, "network.egress_allowlist", write_egress);
        add(f, "network.ingress", write_none);
        add(f, "network.dns_policy", write_names);
        if (rate != SPEC_UNSET)
                add_text(f, "network.bandwidth_limit",
                         arena_format(f->arena, "%" PRIu64 "B/s", rate));
}

/* -- limits ------------------------------------------------------------------------------------ */

/* Is there a step that writes this file of a control group? */
static bool
is_capped(const struct plan *plan, const char *one, const char *other)
{
        for (size_t i = 0; i < plan->step_count; i++) {
                const char *slash = strrchr(plan->steps[i].path, '/');

                if (plan->steps[i].op == STEP_CGROUP_LIMIT && slash &&
                    (strcmp(slash + 1, one) == 0 || strcmp(slash + 1, other) == 0))
                        return true;
        }
        return false;
}

/* One cap for both directions; the document has no field for one of them alone. */
static void
write_disk_io(const struct doc_facts *f, struct json_writer *w)
{
        json_open_map(w);
        json_member_text(
                w, "bandwidth",
                arena_format(f->arena, "%" PRIu64 "B/s", f->way->p.spec->limits.io_write_bps));
        json_close_map(w);
}

static void
add_disk_io(struct doc_facts *f)
{
        const struct spec_limits *limits = &f->way->p.spec->limits;
        const struct plan *plan = f->way->p.plan;

        if (limits->io_write_bps != SPEC_UNSET && limits->io_read_bps == limits->io_write_bps &&
            is_capped(plan, "io.max", "blkio.throttle.read_bps_device") &&
            is_capped(plan, "io.max", "blkio.throttle.write_bps_device"))
                add(f, "resources.disk_io", write_disk_io);
}

static void
add_limits(struct doc_facts *f)
{
        const struct spec_limits *limits = &f->way->p.spec->limits;
        const struct plan *plan = f->way->p.plan;
        struct json_writer w;

        if (limits->cpu_millicores == SPEC_UNSET)
                add_nothing(f, "resources.cpu",
                            "SANDBOX.md sets no cap. Add: metadata: {carrel: {limits: "
                            "{cpu_millicores: 2000}}}");
        else if (!is_capped(plan, "cpu.cfs_quota_us", "cpu.max"))
                add_nothing(f, "resources.cpu", "this host cannot enforce cpu_millicores");
        else
                add_text(f, "resources.cpu",
                         arena_format(f->arena, "%" PRIu64 "m", limits->cpu_millicores));
        if (limits->memory_mb == SPEC_UNSET)
                add_nothing(f, "resources.memory",
                            "SANDBOX.md sets no cap. Add: limits: {memory_mb: 1024}");
        else if (!is_capped(plan, "memory.limit_in_bytes", "memory.max"))
                add_nothing(f, "resources.memory", "this host cannot enforce limits.memory_mb");
        else
                add_text(f, "resources.memory",
                         arena_format(f->arena, "%" PRIu64 "Mi", limits->memory_mb));
        if (plan->pids != SPEC_UNSET) {
                json_init(&w, false);
                json_uint(&w, plan->pids);
                add_json(f, "resources.process_limit", &w, "no memory for this part");
        }
        if (f->way->limit.ms != SPEC_UNSET)
                add_text(f, "resources.timeouts.per_tool_call",
                         arena_format(f->arena, "%" PRIu64 "ms", f->way->limit.ms));
        else
                add_nothing(f, "resources.timeouts.per_tool_call",
                            "a command has no time limit. Add: limits: {timeout_ms: 30000}");
}

/* -- cold start -------------------------------------------------------------------------------- */

static int
order(const void *a, const void *b)
{
        uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

        return (one > other) - (one < other);
}

int
doc_facts_measure(struct arena *arena, const struct doc_probe *probe, uint64_t count,
                  const uint64_t **ret_us, struct error *e)
{
        static const char *const command[] = { "true", NULL };
        bool is_shown = isatty(STDERR_FILENO);
        uint64_t *times = arena_array(arena, uint64_t, count);

        if (!times)
                return fail(e, ERROR_NO_MEMORY, "no memory for measurements");
        for (uint64_t i = 0; i < count; i++) {
                struct doc_probed done;

                if (is_shown)
                        (void)fprintf(stderr, "\rcarrel: cold start %" PRIu64 " of %" PRIu64, i + 1,
                                      count);
                if (doc_probe_run(arena, probe, command, &done, e) < 0)
                        return -1;
                if (done.status != 0)
                        return fail(e, ERROR_BACKEND_FAILED,
                                    "a sandbox did not start: `carrel run -- true` ended with %d",
                                    done.status);
                times[i] = done.took_us;
        }
        if (is_shown)
                (void)fputs("\r\033[K", stderr);
        qsort(times, count, sizeof *times, order);
        *ret_us = times;
        return 0;
}

double
doc_facts_percentile(const uint64_t *sorted_us, uint64_t count, unsigned percentile)
{
        uint64_t rank = (count * percentile + 99) / 100; /* nearest rank, from 1 */
        uint64_t tenths = (sorted_us[rank > 0 ? rank - 1 : 0] + 50) / 100;

        return (double)tenths / 10;
}

static int
add_starts(struct doc_facts *f, struct error *e)
{
        static const struct {
                const char *path;
                unsigned percentile;
        } rows[] = { { "lifecycle.cold_start_p50_ms", 50 }, { "lifecycle.cold_start_p99_ms", 99 } };
        const struct host_facts *host = &f->way->host.facts;
        const uint64_t *times = NULL;

        if (doc_facts_measure(f->arena, f->probe, f->starts, &times, e) < 0 || !times)
                return -1;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct json_writer w;

                json_init(&w, false);
                json_double(&w, doc_facts_percentile(times, f->starts, rows[i].percentile));
                add_json(f, rows[i].path, &w, "no memory for this part");
        }
        add_text(f, "lifecycle.cold_start_load_profile",
                 arena_format(f->arena,
                              "%" PRIu64 " runs of `true`, one after another, each from the start "
                              "of carrel to its exit; %u CPUs, Linux %s, %s",
                              f->starts, host->cpu_count, host->kernel, host->machine));
        return 0;
}

/* -- packages ---------------------------------------------------------------------------------- */

static int
add_packages(struct doc_facts *f, struct error *e)
{
        struct json_writer w;
        int result;

        json_init(&w, false);
        json_open_list(&w);
        result = doc_packages_write(f->arena, f->way, f->probe, &w, e);
        json_close_list(&w);
        add_json(f, "tools.installed_packages", &w, "no memory for this part");
        return result;
}

/* -- audit and threats ------------------------------------------------------------------------- */

static int
add_streams(struct doc_facts *f, struct error *e)
{
        struct doc_streams streams;
        struct json_writer w;
        size_t count = 0;

        if (doc_streams_try(f->arena, f->probe, f->way->p.spec, &streams, e) < 0)
                return -1;
        for (size_t i = 0; i < sizeof doc_stream_names / sizeof *doc_stream_names; i++)
                count += streams.has[i];
        if (count == 0) {
                add_nothing(f, "audit.log_streams", "the log has no stream as a whole");
                return 0;
        }
        json_init(&w, false);
        json_open_list(&w);
        for (size_t i = 0; i < sizeof doc_stream_names / sizeof *doc_stream_names; i++)
                if (streams.has[i])
                        json_text(&w, doc_stream_names[i]);
        json_close_list(&w);
        add_json(f, "audit.log_streams", &w, "no memory for this part");
        return 0;
}

static int
add_audit(struct doc_facts *f, struct error *e)
{
        static const char nothing[] = "nothing is recorded. If you use `carrel run --audit`, "
                                      "add --audit";
        bool is_supported;

        if (doc_replay_try(f->arena, f->probe, f->way, &is_supported, &f->why_replay, e) < 0)
                return -1;
        add_bool(f, "audit.replay_supported", is_supported);
        if (f->probe->state) {
                add_bool(f, "audit.log_immutability", true);
                return add_streams(f, e);
        }
        add_nothing(f, "audit.log_streams", nothing);
        add_nothing(f, "audit.log_immutability", nothing);
        return 0;
}

static bool
has_namespace(const struct plan *plan, uint64_t flag)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == STEP_SPAWN)
                        return (plan->steps[i].number & flag) != 0;
        return false;
}

static const struct {
        const char *name;
        enum step_op op, other; /* one of these steps ... */
        uint64_t namespace;     /* ... or this namespace */
} controls[] = {
        { "seccomp_filter", STEP_FILTER, STEP_FILTER, 0 },
        { "landlock", STEP_LANDLOCK, STEP_LANDLOCK, 0 },
        { "capability_drop", STEP_DROP_CAPS, STEP_DROP_CAPS, 0 },
        { "no_new_privileges", STEP_NO_NEW_PRIVS, STEP_NO_NEW_PRIVS, 0 },
        { "user_namespace", STEP_MAX, STEP_MAX, CLONE_NEWUSER },
        { "network_namespace", STEP_MAX, STEP_MAX, CLONE_NEWNET },
        { "read_only_rootfs", STEP_SEAL, STEP_SEAL, 0 },
        { "cgroup_limits", STEP_CGROUP_LIMIT, STEP_CGROUP_LIMIT, 0 },
        { "egress_allowlist", STEP_WALL, STEP_ROUTED, CLONE_NEWNET },
        { "dns_allowlist", STEP_WALL, STEP_NO_NAMES, 0 },
};

const char *
doc_facts_control(const struct plan *plan, size_t index)
{
        for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
                if ((has_step(plan, controls[i].op) || has_step(plan, controls[i].other) ||
                     (controls[i].namespace && has_namespace(plan, controls[i].namespace))) &&
                    index-- == 0)
                        return controls[i].name;
        return NULL;
}

/* The control names all three kinds, so it is on only with all of them. */
static bool
sanitizes_all(const struct run_way *way)
{
        struct error ignored;
        unsigned kinds;

        return prepare_sanitize(way->p.spec, way->p.rules, false, &kinds, &ignored) == 0 &&
               kinds == SANITIZE_ALL;
}

static void
write_controls(const struct doc_facts *f, struct json_writer *w)
{
        const char *name;

        json_open_list(w);
        for (size_t i = 0; (name = doc_facts_control(f->way->p.plan, i)) != NULL; i++)
                json_text(w, name);
        json_text(w, "secret_isolation");
        if (doc_rules_gate(f->way))
                json_text(w, "manual_approval_gates");
        if (sanitizes_all(f->way))
                json_text(w, DOC_SANITIZATION);
        if (f->probe->state)
                json_text(w, "signed_audit_log");
        json_close_list(w);
}

static void
write_words(struct json_writer *w, const char *const *words)
{
        json_open_list(w);
        for (; *words; words++)
                json_text(w, *words);
        json_close_list(w);
}

static void
add_threats(struct doc_facts *f)
{
        static const char *const inputs[] = { "external_content", "mcp_responses",
                                              "repository_files", NULL };
        static const char *const inside[] = { "indirect_prompt_injection", "data_exfiltration",
                                              "resource_exhaustion", NULL };
        static const char *const outside[] = { "host_kernel_vulnerabilities",
                                               "host_kernel_supply_chain",
                                               "data_exfiltration_to_allowed_hosts", NULL };
        static const struct {
                const char *path;
                const char *const *words;
        } rows[] = { { "threat_model.untrusted_inputs", inputs },
                     { "threat_model.in_scope_risks", inside },
                     { "threat_model.out_of_scope_risks", outside } };

        add_text(f, "threat_model.trust_boundary",
                 "the harness and carrel are outside; commands, and what they start, are inside, "
                 "and share the kernel of the host");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct json_writer w;

                json_init(&w, false);
                write_words(&w, rows[i].words);
                add_json(f, rows[i].path, &w, "no memory for this part");
        }
        add(f, "threat_model.mandatory_controls", write_controls);
}

static void
write_allowed(const struct doc_facts *f, struct json_writer *w)
{
        json_node(w, doc_rules_allowed(f->way));
}

static void
write_denied(const struct doc_facts *f, struct json_writer *w)
{
        doc_rules_write_denied(f->way, w);
}

static void
write_waiting(const struct doc_facts *f, struct json_writer *w)
{
        doc_rules_write_waiting(f->way, w);
}

static void
add_rules(struct doc_facts *f)
{
        if (doc_rules_allowed(f->way))
                add(f, "tools.executables_allowlist", write_allowed);
        add(f, "tools.commands_disallowed", write_denied);
        add(f, "tools.human_in_the_loop", write_waiting);
}

static int
add_servers(struct doc_facts *f, struct error *e)
{
        struct json_writer w;

        if (!f->way->p.spec->carrel.tool_servers)
                return 0;
        json_init(&w, false);
        if (doc_servers_write(f->arena, f->way, &w, e) < 0) {
                json_fini(&w);
                return -1;
        }
        add_json(f, "tools.tool_servers", &w, "no memory for this part");
        return 0;
}

int
doc_facts_collect(struct doc_facts *f, struct error *e)
{
        f->count = 0;
        add_identity(f);
        add_boundary(f);
        add_files(f);
        add_network(f);
        add_limits(f);
        add_disk_io(f);
        add_rules(f);
        add_threats(f);
        return add_servers(f, e) < 0 ? -1 : add_audit(f, e);
}

int
doc_facts_try(struct doc_facts *f, struct error *e)
{
        return add_packages(f, e) < 0 ? -1 : add_starts(f, e);
}
