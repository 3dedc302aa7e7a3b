/*
 * cli/doctor.c - `carrel doctor`: what this machine can enforce, item by item, and the command that
 * fixes the rest.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); host/try.h makes the attempts.
 * Knows how to print a report for people and for programs. Knows nothing of how each thing was
 * tried.
 * Theory: exit status 0 says that the tier of the standard provider is enforceable here, 1 that it
 * is not. A missing limit does not change it: limits warn by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/doctor_audit.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/provider_greeting.h"
#include "cli/trial.h"
#include "cli/trial_child.h"
#include "daemon/state.h"
#include "host/cgroups.h"
#include "host/facts.h"
#include "host/try.h"
#include "prepare/host.h"
#include "prepare/host_file.h"
#include "prepare/prepare.h"
#include "spec/provider.h"
#include "text/json.h"

enum { EXIT_OURS = 125, EXIT_NOT_ENFORCEABLE = 1, ARENA_MAX = 16 << 20 };

struct paint {
        const char *good, *bad, *dim, *bold, *off;
};

static const struct paint colours = { "\033[32m", "\033[31m", "\033[2m", "\033[1m", "\033[0m" };
static const struct paint plain = { "", "", "", "", "" };

static const char *const headings[] = {
        [PROVIDER_NEED_TIER] = "all of these are required",
        [PROVIDER_NEED_LIMIT] = "Limits (a run warns of each that is missing)",
        [PROVIDER_NEED_EXTRA] = "Optional (a fallback is used, or one feature is unavailable)",
};

/* One for each provider whose row says what to try; that of the standard provider is the first. */
enum { REPORTS_MAX = 8 };
struct reports {
        struct host_report of[REPORTS_MAX];
        size_t count;
        struct provider_greeting
                greetings[HOST_PROVIDERS_MAX]; /* of providers that a host registers */
        size_t greeting_count;
};

#define NO_PROVIDER                                                                            \
        "refused, because this build has no provider of it: it takes hardware virtualisation " \
        "(docs/MICROVM.md)"

static const char *const words[] = {
        [ATTEMPT_WORKS] = "yes", [ATTEMPT_FAILS] = "NO", [ATTEMPT_IDLE] = "-"
};

/* -- for people -------------------------------------------------------------------------------- */

/* A fix command of several lines keeps its line breaks; each line is indented. */
static void
print_mend(const char *mend, const struct paint *p)
{
        const char *line = mend;

        (void)printf("      %sfix:%s ", p->bold, p->off);
        while (*line) {
                int len = (int)strcspn(line, "\n");

                (void)printf("%.*s\n", len, line);
                line += len;
                if (*line == '\n')
                        line++;
        }
}

static void
print_result(const struct host_try_result *r, const struct paint *p)
{
        const char *colour = r->result == ATTEMPT_WORKS   ? p->good
                             : r->result == ATTEMPT_FAILS ? p->bad
                                                          : p->dim;

        (void)printf("  %s%-3s%s %-17s %s%s%s\n", colour, words[r->result], p->off, r->row->name,
                     p->dim, r->row->what_for, p->off);
        if (r->result == ATTEMPT_WORKS)
                return;
        (void)printf("      %s\n", r->detail);
        if (r->mend[0])
                print_mend(r->mend, p);
}

/* Where `disk: disk` stores /tmp and the home. */
struct disk {
        const char *name, *at, *why_none;
};

static void
find_disk(struct arena *arena, const struct host_facts *facts, struct disk *ret)
{
        struct prepare_host host = { .facts = *facts };
        struct error ignored;

        *ret = (struct disk){ NULL, NULL, NULL };
        if (state_choose(arena, NULL, &host.volumes, &ignored) < 0)
                host.volumes = NULL;
        ret->why_none = prepare_find_disk(arena, &host, &ret->name, &ret->at);
}

static void
print_disk(const struct disk *d, const struct paint *p)
{
        (void)printf("  %s%-3s%s %-17s %smetadata.carrel.disk: %s", d->at ? p->good : p->dim,
                     d->at ? "yes" : "-", p->off, "disk", p->dim,
                     !d->at                          ? "/tmp and the home are memory: "
                     : strcmp(d->name, "image") == 0 ? "/tmp and the home on an image in "
                                                     : "/tmp and the home watched, in ");
        print_escaped(stdout, d->at ? d->at : d->why_none, false);
        (void)printf("%s\n", p->off);
}

static void
print_machine(const struct host_facts *facts, const struct host_report *report)
{
        (void)printf("Linux %s, %s, %u CPUs, %llu MiB; %s", facts->kernel, facts->machine,
                     facts->cpu_count, (unsigned long long)facts->memory_mb,
                     facts->is_privileged ? "as root" : "as an ordinary user");
        if (report->container)
                (void)printf("; marks of a container (%s)", report->container);
        (void)printf("\n");
        if (!facts->is_privileged && facts->extra_group_count > 0)
                (void)printf("%u supplementary groups of yours cannot be dropped: files they may "
                             "read stay readable.\n",
                             facts->extra_group_count);
}

static void
print_report(const struct host_report *report, const struct disk *disk, const struct paint *p)
{
        for (unsigned need = 0; need < PROVIDER_NEED_MAX; need++) {
                if (need == PROVIDER_NEED_TIER)
                        (void)printf("\n%sIsolation (tier %s: %s)%s\n", p->bold,
                                     report->provider->tier, headings[need], p->off);
                else if (report->provider->tries[need])
                        (void)printf("\n%s%s%s\n", p->bold, headings[need], p->off);
                for (size_t i = 0; i < report->count; i++)
                        if (report->results[i].need == need)
                                print_result(&report->results[i], p);
        }
        if (report->provider->tries[PROVIDER_NEED_EXTRA])
                print_disk(disk, p);
        (void)printf("\n%sTier %s: %s%s%s\n", p->bold, report->provider->tier,
                     report->has_tier ? p->good : p->bad, report->why, p->off);
}

/* Of a further provider, what no report has shown yet. */
static void
print_further(const struct host_report *report, const struct paint *p)
{
        const char *bare = provider_tier(report->provider, NULL);

        (void)fputc('\n', stdout);
        for (size_t i = 0; i < report->count; i++)
                if (!report->results[i].is_known)
                        print_result(&report->results[i], p);
        (void)printf("%sTier %s (provider %s", p->bold, report->provider->tier,
                     report->provider->id);
        if (strcmp(bare, report->provider->tier) != 0)
                (void)printf("; without an image %s", bare);
        (void)printf("): %s%s%s%s\n", report->has_tier ? p->good : p->bad,
                     !report->has_tier || report->is_tried ? "" : "found, not tried; ", report->why,
                     p->off);
}

/* Weakest first; the first report was printed before. */
static void
print_tiers(const struct reports *reports, const struct paint *p)
{
        for (const char *const *tier = provider_tiers; *tier; tier++) {
                bool is_known = strcmp(reports->of[0].provider->tier, *tier) == 0;

                for (size_t i = 1; i < reports->count; i++)
                        if (strcmp(reports->of[i].provider->tier, *tier) == 0) {
                                print_further(&reports->of[i], p);
                                is_known = true;
                        }
                if (!is_known)
                        (void)printf("\n%sTier %s: %s" NO_PROVIDER "%s\n", p->bold, *tier, p->bad,
                                     p->off);
        }
}

static void
print_greetings(const struct reports *reports, const struct paint *p)
{
        if (reports->greeting_count > 0)
                (void)printf("\n%sProviders elsewhere (programs of the host file; without a "
                             "network, and nothing is asked of them)%s\n",
                             p->bold, p->off);
        for (size_t i = 0; i < reports->greeting_count; i++) {
                const struct provider_greeting *g = &reports->greetings[i];

                (void)printf("  %s%-3s%s %-17s tier %s\n      ", g->works ? p->good : p->bad,
                             words[g->works ? ATTEMPT_WORKS : ATTEMPT_FAILS], p->off,
                             g->provider->id,
                             g->provider->can.tier ? g->provider->can.tier : "not stated");
                print_escaped(stdout, g->detail, false);
                (void)fputc('\n', stdout);
                if (g->works) {
                        (void)printf("      %scalls itself ", p->dim);
                        print_escaped(stdout, g->name, false);
                        for (int a = 0; a < BRIDGE_ABILITIES; a++)
                                if ((g->abilities & 1u << a) != 0)
                                        (void)printf(", %s",
                                                     bridge_ability_word((enum bridge_ability)a));
                        (void)printf("%s\n", p->off);
                }
                if (g->mend[0])
                        print_mend(g->mend, p);
        }
}

static void
print_text(const struct host_facts *facts, const struct reports *reports, const struct disk *disk,
           const struct doctor_audit *audit)
{
        const struct paint *p = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? &colours : &plain;

        print_machine(facts, &reports->of[0]);
        doctor_audit_print(audit);
        print_report(&reports->of[0], disk, p);
        print_tiers(reports, p);
        print_greetings(reports, p);
}

/* -- for programs ------------------------------------------------------------------------------ */

static void
write_cgroup(struct json_writer *w, const struct cgroup_facts *c)
{
        json_key(w, "cgroup");
        json_open_map(w);
        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++) {
                json_key(w, cgroup_controller_name((enum cgroup_controller)i));
                json_open_map(w);
                json_member_int(w, "version", c->place[i].version);
                json_member_text(w, "parent", c->place[i].version ? c->place[i].parent : NULL);
                json_close_map(w);
        }
        json_member_text(w, "unified", c->unified[0] ? c->unified : NULL);
        json_key(w, "enable");
        json_open_list(w);
        for (size_t i = 0; i < c->enable_count; i++)
                json_text(w, c->enable[i]);
        json_close_list(w);
        json_member_bool(w, "must_leave", c->must_leave);
        json_member_text(w, "why_none", c->why_none);
        json_close_map(w);
}

static void
write_host(struct json_writer *w, const struct host_facts *facts, const struct host_report *report,
           const struct disk *disk)
{
        json_key(w, "host");
        json_open_map(w);
        json_member_text(w, "kernel", facts->kernel);
        json_member_text(w, "machine", facts->machine);
        json_member_int(w, "cpus", facts->cpu_count);
        json_member_int(w, "memory_mb", (int64_t)facts->memory_mb);
        json_member_bool(w, "privileged", facts->is_privileged);
        json_member_int(w, "extra_groups", facts->extra_group_count);
        json_member_int(w, "landlock_abi", facts->landlock_abi);
        json_member_text(w, "container", report->container);
        json_member_text(w, "container_options", report->container_help);
        json_member_text(w, "runtime_dir", facts->runtime_dir);
        write_cgroup(w, &facts->cgroup);
        json_key(w, "disk");
        json_open_map(w);
        json_member_text(w, "form", disk->at ? disk->name : "memory");
        json_member_text(w, "at", disk->at);
        json_member_text(w, "why_none", disk->why_none);
        json_close_map(w);
        json_close_map(w);
}

static void
write_results(struct json_writer *w, const struct host_report *report)
{
        static const char *const states[] = { "works", "fails", "idle" };

        for (size_t i = 0; i < report->count; i++) {
                const struct host_try_result *r = &report->results[i];

                if (r->is_known)
                        continue;
                json_open_map(w);
                json_member_text(w, "name", r->row->name);
                json_member_text(w, "what_for", r->row->what_for);
                json_member_text(w, "needed_for", host_need_name(report->provider, r->need));
                json_member_text(w, "provider", report->provider->id);
                json_member_text(w, "state", states[r->result]);
                json_member_text(w, "detail", r->detail);
                json_member_text(w, "fix", r->mend[0] ? r->mend : NULL);
                json_close_map(w);
        }
}

static void
write_greetings(struct json_writer *w, const struct reports *reports)
{
        json_key(w, "elsewhere");
        json_open_list(w);
        for (size_t i = 0; i < reports->greeting_count; i++) {
                const struct provider_greeting *g = &reports->greetings[i];

                json_open_map(w);
                json_member_text(w, "id", g->provider->id);
                json_member_text(w, "tier", g->provider->can.tier);
                json_member_bool(w, "works", g->works);
                json_member_bool(w, "started", g->is_started);
                json_member_text(w, "name", g->name[0] ? g->name : NULL);
                json_key(w, "abilities");
                json_open_list(w);
                for (int n = 0; n < BRIDGE_ABILITIES; n++)
                        if ((g->abilities & 1u << n) != 0)
                                json_text(w, bridge_ability_word((enum bridge_ability)n));
                json_close_list(w);
                json_member_text(w, "detail", g->detail);
                json_member_text(w, "fix", g->mend[0] ? g->mend : NULL);
                json_close_map(w);
        }
        json_close_list(w);
}

/* A tier is enforced if one of its providers is. */
static void
write_tiers(struct json_writer *w, const struct reports *reports)
{
        json_key(w, "tier");
        json_open_map(w);
        for (const char *const *tier = provider_tiers; *tier; tier++) {
                bool is_enforced = false;

                for (size_t i = 0; i < reports->count; i++)
                        if (strcmp(reports->of[i].provider->tier, *tier) == 0)
                                is_enforced |= reports->of[i].has_tier;
                json_member_bool(w, *tier, is_enforced);
        }
        json_member_text(w, "why", reports->of[0].why);
        json_close_map(w);
        json_key(w, "providers");
        json_open_list(w);
        for (size_t i = 0; i < reports->count; i++) {
                const struct host_report *r = &reports->of[i];

                json_open_map(w);
                json_member_text(w, "id", r->provider->id);
                json_member_text(w, "tier", r->provider->tier);
                json_member_bool(w, "works", r->has_tier);
                json_member_bool(w, "tried", r->is_tried);
                json_member_text(w, "why", r->why);
                json_close_map(w);
        }
        json_close_list(w);
}

static int
print_json(const struct host_facts *facts, const struct reports *reports, const struct disk *disk,
           const struct doctor_audit *audit)
{
        struct json_writer w;
        int result = -1;

        json_init(&w, true);
        json_open_map(&w);
        write_tiers(&w, reports);
        write_greetings(&w, reports);
        write_host(&w, facts, &reports->of[0], disk);
        doctor_audit_write(&w, audit);
        json_key(&w, "mechanisms");
        json_open_list(&w);
        for (size_t i = 0; i < reports->count; i++)
                write_results(&w, &reports->of[i]);
        json_close_list(&w);
        json_close_map(&w);
        if (!w.is_broken && w.text && puts(w.text) >= 0)
                result = 0;
        json_fini(&w);
        return result;
}

/* -- the command ------------------------------------------------------------------------------- */

static int
complain(const struct error *e)
{
        (void)fprintf(stderr, "carrel doctor: %s\nNext: %s\n", e->message, error_hint_text(e));
        return EXIT_OURS;
}

static int
try_providers(const struct host_facts *facts, struct trial_desk *desk, struct reports *ret,
              struct error *e)
{
        for (size_t i = 0; i < provider_count; i++) {
                struct host_report *report = &ret->of[ret->count];

                if (!providers[i].tries[PROVIDER_NEED_TIER])
                        continue;
                if (ret->count == REPORTS_MAX)
                        return fail(e, ERROR_INTERNAL, "there are more than %d providers to try",
                                    REPORTS_MAX);
                if (host_try_all(facts, &providers[i], ret->count > 0 ? &ret->of[0] : NULL, report,
                                 e) < 0)
                        return -1;
                trial_run(desk, report);
                ret->count++;
        }
        return 0;
}

static void
greet_providers(const struct host_file *file, struct reports *ret)
{
        for (size_t i = 0; i < file->rules->providers.count; i++) {
                const struct host_provider *p = &file->rules->providers.items[i];

                if (p->program.argv.count > 0 || provider_is_elsewhere(provider_find(p->id)))
                        provider_greeting_read(p, ret->of[0].has_tier,
                                               &ret->greetings[ret->greeting_count++]);
        }
}

struct asked {
        const char *host_name;
        bool is_json, boots;
};

/* A default host file with a fault is reported by the commands that need it. */
static int
load_host(struct arena *arena, const struct asked *a, const struct host_facts *facts,
          struct host_file *ret, struct error *e)
{
        struct host_ability real = prepare_local_ability(facts, false);

        if (host_file_load(arena, a->host_name, &real, HOST_FILE_BOUND, NULL, ret, e) == 0)
                return 0;
        return a->host_name
                       ? -1
                       : host_file_load(arena, "/dev/null", &real, HOST_FILE_BOUND, NULL, ret, e);
}

/* What was made for the trials is removed, also if a signal ends this process. */
static int
try_all(const struct asked *a, struct host_facts *facts, const struct host_file *file,
        struct reports *ret, struct error *e)
{
        static struct trial_desk desk;
        int result;

        facts->machine_kernel = file->rules->machine_kernel;
        desk.kernel = file->rules->machine_kernel;
        desk.boots = a->boots;
        trial_child_catch();
        result = try_providers(facts, &desk, ret, e);
        trial_image_remove(&desk.image);
        trial_child_release();
        if (result == 0)
                greet_providers(file, ret);
        return result;
}

static int
cmd_doctor(int argc, char **argv)
{
        static struct reports reports;
        static struct doctor_audit audit;
        struct host_file file = { .rules = NULL };
        struct host_facts facts;
        struct error e;
        struct asked a = { .is_json = false };
        struct words none;
        struct arena arena;
        struct disk disk;
        int status;

        if (options_read(&command_doctor, argc, argv, &a, &none, &e) < 0)
                return print_failure(NULL, &e, a.is_json);
        if (host_facts_read(&facts, &e) < 0)
                return complain(&e);
        arena_init(&arena, ARENA_MAX);
        if (load_host(&arena, &a, &facts, &file, &e) < 0) {
                status = print_failure(file.name, &e, a.is_json);
                arena_fini(&arena);
                return status;
        }
        if (try_all(&a, &facts, &file, &reports, &e) < 0) {
                arena_fini(&arena);
                return complain(&e);
        }
        find_disk(&arena, &facts, &disk);
        doctor_audit_look(&arena, &audit);
        if (a.is_json && print_json(&facts, &reports, &disk, &audit) < 0) {
                (void)fail(&e, ERROR_NO_MEMORY, "the report could not be written");
                status = complain(&e);
        } else {
                status = reports.of[0].has_tier ? 0 : EXIT_NOT_ENFORCEABLE;
        }
        if (!a.is_json)
                print_text(&facts, &reports, &disk, &audit);
        arena_fini(&arena);
        return status;
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, boots, "--boot",
                    "also boot a virtual machine: some seconds, at most 150 (default: not tried)"),
        OPTION_TEXT(struct asked, host_name, VALUE_FILE, "--host", "FILE", HOST_FILE_DOC),
        OPTION_FLAG(struct asked, is_json, "--json", JSON_DOC),
        OPTION_END,
};

const struct command command_doctor = {
        .name = "doctor",
        .help = "Show what this machine can enforce, and how to fix what is missing.",
        .options = options,
        .notes =
                "Each kind of sandbox is started once; a program of the host file (docs/BRIDGE.md) "
                "only\nuntil its greeting.\n",
        .example = "carrel doctor",
        .run = cmd_doctor,
};
