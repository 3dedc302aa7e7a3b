/*
 * prepare/prepare.c - from a manifest to a plan.
 *
 * Room: prepare (joining). Touches: what its parts touch.
 * Knows the order of the stages. Knows nothing of how any part of it decides.
 */
#include "prepare/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/switches.h"
#include "plan/disk.h"
#include "prepare/container.h"
#include "prepare/elsewhere.h"
#include "prepare/image.h"
#include "prepare/machine.h"
#include "prepare/permission.h"
#include "prepare/private.h"
#include "prepare/rootfs.h"
#include "prepare/saved.h"
#include "prepare/verdict.h"
#include "sources/gitconfig.h"
#include "spec/provider.h"

enum { ARENA_MAX = 64 << 20 };

/*
 * Outside ids reserved for root's sandboxes: no system assigns these (they lie beyond systemd's
 * ranges). One for a sandbox of the host's programs; above them, STEP_RANGE_IDS for one of an
 * image.
 */
enum {
        RESERVED_FIRST = 1900000000,
        RESERVED_COUNT = 65536,
        RANGES_FIRST = RESERVED_FIRST + RESERVED_COUNT,
        RANGES_COUNT = 3700,
        /* one for each of both, for what makes a container; all ids stay below 2^31 */
        SETUP_FIRST = RANGES_FIRST + RANGES_COUNT * STEP_RANGE_IDS
};

void
prepared_init(struct prepared *p)
{
        memset(p, 0, sizeof *p);
        arena_init(&p->arena, ARENA_MAX);
        findings_init(&p->findings, &p->arena);
}

void
prepared_init_in(struct prepared *p, void *memory, size_t len)
{
        memset(p, 0, sizeof *p);
        arena_init_in(&p->arena, ARENA_MAX, memory, len);
        findings_init(&p->findings, &p->arena);
        p->is_short = true;
}

/* -- the template ------------------------------------------------------------------------------ */

static bool
has_name(const struct spec_names *names, const char *name)
{
        for (size_t i = 0; i < names->count; i++)
                if (strcmp(names->items[i], name) == 0)
                        return true;
        return false;
}

static int
add_name(struct arena *arena, struct spec_names *names, const char *name, struct error *e)
{
        const char **items = arena_array(arena, const char *, names->count + 1);

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the template");
        items[0] = name; /* first in PATH */
        if (names->count > 0)
                memcpy(items + 1, names->items, sizeof *items * names->count);
        *names = (struct spec_names){ items, names->count + 1 };
        return 0;
}

/*
 * The template's directory becomes a tool that the host permits: the launcher found it, no manifest
 * asked for it.
 */
static int
bring_in(const char *prefix, struct prepared *p, struct error *e)
{
        struct spec *spec = arena_new(&p->arena, struct spec);
        struct host_rules *rules = arena_new(&p->arena, struct host_rules);

        if (!spec || !rules)
                return fail(e, ERROR_NO_MEMORY, "no memory for the template");
        *spec = *p->spec;
        *rules = *p->rules;
        p->spec = spec;
        p->rules = rules;
        if (!has_name(&spec->carrel.tools, prefix) &&
            add_name(&p->arena, &spec->carrel.tools, prefix, e) < 0)
                return -1;
        return add_name(&p->arena, &rules->tool_roots, prefix, e);
}

int
prepare_take(const struct prepare_host *host, const struct prepare_request *request,
             const struct spec *allowed, struct prepared *p, struct error *e)
{
        const struct provider *provider = provider_find(allowed->provider);

        p->spec = allowed;
        p->rules = host->rules;
        p->interpreter = provider ? provider->interpreter : NULL;
        if (elsewhere_take(&p->arena, &p->spec, &p->rules, &p->bridge, e) < 0 ||
            rootfs_take(&p->arena, host, request->runtime != NULL, &p->spec, &p->image, e) < 0)
                return -1;
        if (!request->runtime)
                return 0;
        if (runtime_find(&host->runtimes, request->runtime, &p->runtime, e) < 0)
                return -1;
        return p->runtime->prefix ? bring_in(p->runtime->prefix, p, e) : 0;
}

struct host_limits
prepare_limits(const struct prepare_host *host, uint32_t caller_uid)
{
        struct host_limits limits = host->rules->limits;

        if (caller_uid != PREPARE_UID_ANY && caller_uid != host->facts.uid)
                host_limits_of_others(&limits);
        return limits;
}

/* -- judging a tree ---------------------------------------------------------------------------- */

static const struct node standard_config = { .kind = NODE_MAP, .key = "config" };
static const struct node standard_provider = { .kind = NODE_STRING,
                                               .key = "provider",
                                               .text = PROVIDER_AUTO,
                                               .len = sizeof PROVIDER_AUTO - 1,
                                               .next = &standard_config };
static const struct node standard = { .kind = NODE_MAP, .first = &standard_provider, .len = 2 };

static enum manifest_kind
kind_of(const struct node *tree)
{
        if (node_find(tree, "sandbox"))
                return MANIFEST_PARENT;
        return node_find(tree, "schema") ? MANIFEST_STANDALONE : MANIFEST_BLOCK;
}

static int
refuse_reference(struct prepared *p, const struct manifest *m, struct error *e)
{
        (void)fail_at(e, ERROR_REF_UNRESOLVABLE,
                      m->form == MANIFEST_FILE ? "sandbox/file" : "sandbox/ref", "not_followed",
                      "the manifest only points at \"%.200s\", and the daemon opens no manifests",
                      m->ref);
        error_hint(e, "Send the block itself; `carrel create -f FILE` follows references before it "
                      "sends.");
        e->line = m->ref_line;
        e->column = m->ref_column;
        findings_add(&p->findings, e);
        return -1;
}

/* No SECRETS.md is read here: the host file must declare the secrets. */
static void
hint_inventory(const struct prepare_host *host, const struct verdict *v, struct error *e)
{
        const char *ref = v->spec ? v->spec->env.auth_ref : NULL;

        if (e->code == ERROR_AUTH_UNRESOLVABLE && ref && !host_rules_inventory(host->rules, ref))
                error_hint(e,
                           "The daemon opens no %.64s of a workspace: name it, or its slugs, in "
                           "the host file, under secrets, or use `carrel run`.",
                           ref);
}

/* What was chosen once stays: if it is permitted no longer, that is a refusal, not another choice.
 */
static int
keep_choice(struct arena *arena, const struct prepare_request *request, struct verdict *v,
            struct error *e)
{
        struct spec *spec;

        if (!request->provider || strcmp(v->spec->provider, PROVIDER_AUTO) != 0)
                return 0;
        spec = arena_new(arena, struct spec);
        if (!spec)
                return fail(e, ERROR_NO_MEMORY, "no memory for a spec");
        *spec = *v->spec;
        spec->provider = request->provider;
        v->spec = spec;
        return 0;
}

static int
judge(const struct prepare_host *host, const struct prepare_request *request,
      const struct node *tree, struct prepared *p, struct verdict *v, struct error *e)
{
        size_t errors_before = p->findings.error_count;
        struct host_rules rules = *host->rules;

        rules.actor = request->actor;
        if (request->usage)
                rules.usage = *request->usage;
        rules.limits = prepare_limits(host, request->caller_uid);

        if (manifest_from_tree(&p->arena, tree, kind_of(tree), &v->written, &p->findings, e) < 0)
                return -1;
        v->found = v->written;
        if (v->written.form == MANIFEST_NONE)
                return fail(e, ERROR_NOT_CONFIGURED,
                            "the manifest declares no sandbox, so no command may run");
        if (v->written.form == MANIFEST_REF || v->written.form == MANIFEST_FILE)
                return refuse_reference(p, &v->written, e);
        if (verdict_check(&p->arena, v, &p->findings, e) == 0 &&
            keep_choice(&p->arena, request, v, e) == 0 &&
            verdict_allow(&p->arena, &rules, request->now_s, v, &p->findings, e) == 0)
                return 0;
        if (p->findings.error_count == errors_before)
                findings_add(&p->findings, e);
        hint_inventory(host, v, e);
        return -1;
}

int
prepare_judge(const struct prepare_host *host, const struct prepare_request *request,
              const struct node *tree, struct prepared *p, struct error *e)
{
        struct verdict v = { .spec = NULL };

        p->tree = tree ? tree : &standard;
        if (judge(host, request, p->tree, p, &v, e) < 0)
                return -1;
        return prepare_take(host, request, v.allowed, p, e);
}

/* -- the plan ---------------------------------------------------------------------------------- */

/*
 * The payload's outside uid: this user's, or for root an id that no other sandbox has while the
 * lease of its name is locked.
 */
static int
choose_identity(const struct prepare_host *host, struct prepared *p, struct plan_request *request,
                struct error *e)
{
        bool has_range = host->facts.is_privileged && p->image && !p->machine;
        uint32_t first = has_range ? RANGES_FIRST : RESERVED_FIRST,
                 each = has_range ? STEP_RANGE_IDS : 1,
                 count = has_range ? RANGES_COUNT : RESERVED_COUNT;
        uint64_t number = strtoull(request->id, NULL, 16);

        request->has_range = has_range;
        request->outside_uid = host->facts.uid;
        request->outside_gid = host->facts.gid;
        for (uint32_t tries = 0; host->facts.is_privileged && tries < count; tries++) {
                uint32_t index = (uint32_t)((number + tries) % count);
                uint32_t uid = first + index * each;
                const char *lease =
                        arena_format(p->plans, "%s/%u.lease", host->facts.runtime_dir, uid);

                if (!lease)
                        return fail(e, ERROR_NO_MEMORY, "no memory for a name");
                if (access(lease, F_OK) == 0)
                        continue;
                request->outside_uid = request->outside_gid = uid;
                request->setup_id =
                        (has_range ? SETUP_FIRST + RESERVED_COUNT : SETUP_FIRST) + index;
                request->lease_path = lease;
                return 0;
        }
        if (host->facts.is_privileged)
                return fail(e, ERROR_QUOTA_EXCEEDED, "all %u ids for sandboxes are taken", count);
        return 0;
}

static bool
has_groups(const struct host_facts *facts)
{
        for (int c = 0; c < CGROUP_CONTROLLER_MAX; c++)
                if (facts->cgroup.place[c].version != 0)
                        return true;
        return facts->cgroup.unified[0] != '\0';
}

/* The template's commands lead to it, whichever version the host's own name for it means. */
static int
add_links(struct prepared *p, struct plan_request *request, struct error *e)
{
        const struct runtime_family *family =
                p->runtime ? runtime_family_find(p->runtime->family, strlen(p->runtime->family))
                           : NULL;
        struct plan_link *links =
                family ? arena_array(p->plans, struct plan_link, RUNTIME_COMMANDS_MAX) : NULL;

        if (!family)
                return 0;
        if (!links)
                return fail(e, ERROR_NO_MEMORY, "no memory for the template");
        request->links = links;
        while (request->link_count < RUNTIME_COMMANDS_MAX &&
               family->commands[request->link_count]) {
                links[request->link_count] =
                        (struct plan_link){ family->commands[request->link_count],
                                            p->runtime->path };
                request->link_count++;
        }
        return 0;
}

/*
 * Outside everything that the sandbox may write, because otherwise its own directory would be in
 * the workspace.
 */
static int
choose_keeping(const struct prepare_host *host, const struct prepare_request *asked,
               struct prepared *p, struct plan_request *request, struct error *e)
{
        const char *base = asked->keeping;

        for (size_t i = 0; base && i < p->sources->count; i++)
                if (host_path_is_below(&(struct spec_names){ &p->sources->items[i].host_path, 1 },
                                       base))
                        base = NULL;
        request->keeping[base ? 1 : 0] =
                arena_format(p->plans, "%s/kept/%s", host->facts.runtime_dir, asked->id);
        if (base)
                request->keeping[0] = arena_format(p->plans, "%s/%s", base, asked->id);
        return request->keeping[0] && (!base || request->keeping[1])
                       ? 0
                       : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

static int
make_plan(const struct prepare_host *host, const struct prepare_request *asked, struct prepared *p,
          struct error *e)
{
        const struct sources *s = p->sources;
        struct plan_request request = { .id = asked->id,
                                        .sources = s->items,
                                        .source_count = sources_total(s),
                                        .mounts = s->mounts,
                                        .mount_count = s->count,
                                        .disks = s->disks,
                                        .disk_count = s->disk_count,
                                        .has_image = s->has_image,
                                        .rootfs = p->image ? p->image->plan : NULL,
                                        .container = p->container,
                                        .machine = p->machine,
                                        .private_place = p->private_place,
                                        .why_no_image = p->why_no_image,
                                        .switched_off = asked->switched_off,
                                        .is_living = asked->is_living,
                                        .watches_exec = asked->watches_exec && !p->bridge,
                                        .bridge = p->bridge,
                                        .timeout_ms = asked->timeout_ms };
        struct gitconfig_request git = { .home = prepare_is_for_other(host, asked) ? NULL
                                                                                   : host->home,
                                         .xdg = host->xdg,
                                         .workspace = p->workspace };

        if (choose_identity(host, p, &request, e) < 0 || add_links(p, &request, e) < 0)
                return -1;
        if (!request.lease_path && (has_groups(&host->facts) || p->private_place || p->container))
                request.lease_path =
                        arena_format(p->plans, "%s/%s.lease", host->facts.runtime_dir, request.id);
        if (gitconfig_make(p->plans, &git, &request.gitconfig, e) < 0)
                return -1;
        if (s->has_guards && choose_keeping(host, asked, p, &request, e) < 0)
                return -1;
        p->outside_uid = request.outside_uid;
        return plan_build(p->plans, p->spec, &host->facts, &request, &p->plan, &p->findings, e);
}

/* Finds a disk for the private places: a directory if an image is not requested by name. */
static void
find_disk(const struct prepare_host *host, struct prepared *p)
{
        enum spec_disk form = plan_disk_form(p->spec, &host->facts);

        p->private_place = p->why_no_image = NULL;
        if (form == SPEC_DISK_IMAGE)
                p->why_no_image = image_find(p->plans, host, plan_disk_mb(p->spec), p->sources);
        if (form == SPEC_DISK_DIRECTORY ||
            (p->why_no_image && p->spec->carrel.disk != SPEC_DISK_IMAGE))
                p->why_no_image = private_find(p->plans, host, p->sources, &p->private_place);
}

const char *
prepare_find_disk(struct arena *arena, const struct prepare_host *host, const char **ret_name,
                  const char **ret_at)
{
        struct sources *sources = arena_new(arena, struct sources);
        const char *place = NULL, *why;

        if (!sources)
                return "no memory";
        why = image_find(arena, host, SPEC_DISK_MB, sources);
        if (why)
                why = private_find(arena, host, sources, &place);
        if (!why) {
                *ret_name = place ? "directory" : "image";
                *ret_at = sources->items[0].host_path;
        }
        sources_fini(sources);
        return why;
}

static int
walk(const struct prepare_host *host, const struct prepare_request *request, struct prepared *p,
     struct error *e)
{
        if (prepare_directories(host, request, p, e) < 0)
                return -1;
        if (!p->machine)
                find_disk(host, p);
        if (p->machine && saved_choose(p->plans, host,
                                       &(struct saved_request){ p->spec, p->image, request->saved },
                                       &p->machine, p->sources, e) < 0)
                return -1;
        if (p->image && (p->machine ? rootfs_open_disk(p->plans, host, p->image, p->sources, e)
                                    : rootfs_open(p->plans, host, p->image, p->sources, e)) < 0)
                return -1;
        return make_plan(host, request, p, e);
}

/* The setting that names one of the provider's own secrets ("api_key_ref"), or NULL. */
static const char *
reference_of(const struct spec *spec)
{
        if (!spec->config || spec->config->kind != NODE_MAP)
                return NULL;
        node_each(setting, spec->config)
        {
                size_t len = strlen(setting->key);

                if (setting->kind == NODE_STRING && len > 4 &&
                    strcmp(setting->key + len - 4, "_ref") == 0)
                        return setting->key;
        }
        return NULL;
}

/*
 * Called after everything was judged, references too; no value was fetched, because no command
 * would receive it.
 */
static int
fail_without_engine(const struct prepared *p, struct error *e)
{
        const struct spec *spec = p->spec;
        const char *reference = reference_of(spec);

        if (p->bridge) {
                (void)fail_at(e, ERROR_PROVIDER_UNKNOWN, "provider", "needs_daemon",
                              "the provider %.64s runs with the daemon only", spec->provider);
                error_hint(e, "Start `carrel serve --host FILE`, and use `carrel create -f "
                              "SANDBOX.md` and `carrel exec`.");
                return -1;
        }
        (void)fail_at(e, ERROR_PROVIDER_UNKNOWN, "provider", "no_engine",
                      "this build of Carrel has no engine for the provider %.64s%s%.64s%s",
                      spec->provider, reference ? ": the value of " : "",
                      reference ? reference : "", reference ? " was not asked for" : "");
        e->line = spec->provider_place.line;
        e->column = spec->provider_place.column;
        error_hint(e, "Write `provider: " PROVIDER_STANDARD
                      "`, or another one that `carrel providers` lists.");
        return -1;
}

/* Makes the plan of a provider's sandbox. */
typedef int build_plan(const struct prepare_host *host, const struct prepare_request *request,
                       struct prepared *p, struct error *e);

#ifdef CARREL_TEST_SWITCHES
/* The sources are checked; no step is done. */
static int
plan_nothing(const struct prepare_host *host, const struct prepare_request *request,
             struct prepared *p, struct error *e)
{
        struct plan *none = arena_new(p->plans, struct plan);

        if (!none)
                return fail(e, ERROR_NO_MEMORY, "no memory for a plan");
        if (walk(host, request, p, e) < 0)
                return -1;
        *none = *p->plan;
        none->step_count = 0;
        p->plan = none;
        return 0;
}
#endif

static int
plan_container(const struct prepare_host *host, const struct prepare_request *request,
               struct prepared *p, struct error *e)
{
        return container_find(p->spec, &p->container, e) < 0 ? -1 : walk(host, request, p, e);
}

static int
plan_machine(const struct prepare_host *host, const struct prepare_request *request,
             struct prepared *p, struct error *e)
{
        return machine_find(p->plans, host, &p->machine, e) < 0 ? -1 : walk(host, request, p, e);
}

/* The plan of the sandbox that its program runs in. */
static int
walk_for_program(const struct prepare_host *host, const struct prepare_request *request,
                 struct prepared *p, struct error *e)
{
        if (p->bridge)
                return walk(host, request, p, e);
        (void)fail_at(e, ERROR_PROVIDER_UNKNOWN, "provider", "no_program",
                      "the host file names no program for the provider %.64s", p->spec->provider);
        e->line = p->spec->provider_place.line;
        e->column = p->spec->provider_place.column;
        error_hint(e, "docs/BRIDGE.md says what to add to the host file under providers, and "
                      "which package to install.");
        return -1;
}

static build_plan *const builders[] = {
        [PROVIDER_ENGINE_NS] = walk,
        [PROVIDER_ENGINE_BRIDGE] = walk_for_program,
#ifdef CARREL_TEST_SWITCHES
        [PROVIDER_ENGINE_FAKE] = plan_nothing,
#endif
        [PROVIDER_ENGINE_NONE] = NULL,
        [PROVIDER_ENGINE_OCI] = plan_container,
        [PROVIDER_ENGINE_MACHINE] = plan_machine,
};

struct permission
prepared_permission(const struct prepared *p)
{
        return (struct permission){ p->spec, p->interpreter, p->runtime, p->cwd };
}

int
prepare_plan(const struct prepare_host *host, const struct prepare_request *request,
             struct prepared *p, struct error *e)
{
        const struct provider *provider = provider_find(p->spec->provider);
        struct permission permission;

        p->engine = p->bridge  ? PROVIDER_ENGINE_BRIDGE
                    : provider ? provider->engine
                               : PROVIDER_ENGINE_NONE;
        if (!builders[p->engine] || (p->is_short && !(provider && provider->runs_once)))
                return fail_without_engine(p, e);
        permission = prepared_permission(p);
        if (permission_check(&permission, &host->runtimes, e) < 0)
                return -1;
        prepared_release(p);
        if (!p->is_short)
                arena_init(&p->plan_arena, ARENA_MAX);
        p->plans = p->is_short ? &p->arena : &p->plan_arena;
        p->sources = arena_new(p->plans, struct sources);
        if (!p->sources)
                return fail(e, ERROR_NO_MEMORY, "no memory for a plan");
        if (builders[p->engine](host, request, p, e) < 0)
                return -1;
        p->cwd = arena_text(&p->arena, p->bridge ? "/" : p->plan->cwd);
        p->cpu = p->plan->cpu;
        p->disk_floor_mb = p->plan->disk_floor_mb;
        return p->cwd ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a plan");
}

int
prepared_command(struct prepared *p, char ***ret, size_t *ret_count, struct error *e)
{
        *ret_count = 0;
        return p->image ? rootfs_command(&p->arena, p->image, ret, ret_count, e) : 0;
}

const char *
prepared_disk(const struct prepared *p)
{
        return p->plan->is_on_image ? p->sources->items[p->sources->count].host_path : NULL;
}

void
prepared_release(struct prepared *p)
{
        if (p->sources)
                sources_fini(p->sources);
        p->sources = NULL;
        p->plan = NULL;
        p->workspace = NULL;
        p->container = NULL;
        p->machine = NULL;
        p->plans = NULL;
        arena_fini(&p->plan_arena);
}

void
prepared_fini(struct prepared *p)
{
        prepared_release(p);
        rootfs_let_go(p->image);
        p->image = NULL;
        arena_fini(&p->arena);
}
