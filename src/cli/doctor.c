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
#include "cli/trial.h"
#include "daemon/state.h"
#include "host/cgroups.h"
#include "host/facts.h"
#include "host/try.h"
#include "prepare/host_file.h"
#include "prepare/prepare.h"
#include "spec/provider.h"
#include "text/json.h"

enum { EXIT_OURS = 125, EXIT_NOT_ENFORCEABLE = 1, ARENA_MAX = 1 << 20 };

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
};

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
        (void)printf("): %s%s%s\n", report->has_tier ? p->good : p->bad, report->why, p->off);
}

static void
print_text(const struct host_facts *facts, const struct reports *reports, const struct disk *disk,
           const struct doctor_audit *audit)
{
        const struct paint *p = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? &colours : &plain;

        print_machine(facts, &reports->of[0]);
        doctor_audit_print(audit);
        print_report(&reports->of[0], disk, p);
        for (size_t i = 1; i < reports->count; i++)
                print_further(&reports->of[i], p);
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
                json_member_text(w, "state", states[r->result]);
                json_member_text(w, "detail", r->detail);
                json_member_text(w, "fix", r->mend[0] ? r->mend : NULL);
                json_close_map(w);
        }
}

/* A tier is enforced if one of its providers is. */
static void
write_tiers(struct json_writer *w, const struct reports *reports)
{
        json_key(w, "tier");
        json_open_map(w);
        for (const char *const *tier = provider_tiers; *tier; tier++) {
                bool is_known = false, is_enforced = false;

                for (size_t i = 0; i < reports->count; i++)
                        if (strcmp(reports->of[i].provider->tier, *tier) == 0) {
                                is_known = true;
                                is_enforced |= reports->of[i].has_tier;
                        }
                if (is_known)
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

/* The whole sandbox was tried with the first provider of this engine. */
static void
take_trial(const struct host_report *from, struct host_report *to)
{
        const struct host_try_result *trial = &from->results[from->count - 1];

        host_report_add(to, trial->row, PROVIDER_NEED_TIER, trial->result, trial->detail);
        to->results[to->count - 1].is_known = true;
}

static int
try_providers(const struct host_facts *facts, struct reports *ret, struct error *e)
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
                if (ret->count > 0 && providers[i].engine == ret->of[0].provider->engine)
                        take_trial(&ret->of[0], report);
                else if (!provider_needs_config(&providers[i]))
                        trial_run(report);
                ret->count++;
        }
        return 0;
}

/* A host file with a fault is reported by the commands that need it. */
static void
find_kernel(struct arena *arena, struct host_facts *facts)
{
        static const struct host_ability none;
        struct host_file file;
        struct error ignored;

        if (host_file_load(arena, NULL, &none, 0, NULL, &file, &ignored) == 0)
                facts->machine_kernel = file.rules->machine_kernel;
}

struct asked {
        bool is_json;
};

static int
cmd_doctor(int argc, char **argv)
{
        static struct reports reports;
        static struct doctor_audit audit;
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
        find_kernel(&arena, &facts);
        if (try_providers(&facts, &reports, &e) < 0) {
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
        OPTION_FLAG(struct asked, is_json, "--json", JSON_DOC),
        OPTION_END,
};

const struct command command_doctor = {
        .name = "doctor",
        .help = "Show what this machine can enforce, and how to fix what is missing.",
        .options = options,
        .example = "carrel doctor",
        .run = cmd_doctor,
};
