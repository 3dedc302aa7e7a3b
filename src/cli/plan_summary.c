/*
 * cli/plan_summary.c - a plan in words for people.
 *
 * Room: cli (joining). Touches: fd (the stream).
 * Theory: it prints what the judged spec and the opened sources contain, one fact per line; it does
 * not query the host again. Limits are the rows of their tables.
 */
#include "cli/plan_summary.h"

#include <inttypes.h>
#include <string.h>

#include "cli/finding_print.h"
#include "plan/request.h"
#include "policy/host_limits.h"
#include "spec/section.h"

/* The first column names a fact's topic, once. */
static void
topic(FILE *out, const char *word)
{
        (void)fprintf(out, "  %-12s", word);
}

static void
print_volume(FILE *out, const struct run_way *w, size_t i)
{
        const struct plan_source *source = &w->p.sources->items[i];

        (void)fprintf(out, "  the volume %s, %s", source->volume,
                      source->is_unmade ? "which is kept; created when the command starts"
                                        : "which is kept");
}

static bool
is_home_mounted(const struct run_way *w)
{
        for (size_t i = 0; i < w->p.sources->count; i++)
                if (strcmp(w->p.sources->mounts[i].at, PLAN_HOME) == 0)
                        return true;
        return false;
}

static void
print_mount(FILE *out, const struct run_way *w, size_t i)
{
        const struct plan_mount *m = &w->p.sources->mounts[i];
        const char *from = w->p.sources->items[i].host_path;

        topic(out, m->is_read_only ? "sees" : "writes");
        print_escaped(out, m->at, false);
        if (strcmp(m->at, from) != 0) {
                (void)fputs("  (", out);
                print_escaped(out, from, false);
                (void)fputc(')', out);
        }
        if (w->p.sources->items[i].volume)
                print_volume(out, w, i);
        (void)fputs(m->is_tool        ? "  read-only, a tool\n"
                    : m->is_read_only ? "  read-only\n"
                                      : "\n",
                    out);
}

static void
print_provider(FILE *out, const struct run_way *w)
{
        const struct spec *spec = w->p.spec;
        const struct host_provider *here =
                host_provider_find(&w->p.rules->providers, spec->provider);
        const char *tier = here ? host_provider_tier(here, spec->config) : NULL;

        topic(out, "runs with");
        (void)fprintf(out, "provider %s", spec->provider);
        if (tier)
                (void)fprintf(out, ", tier %s", tier);
        if (w->p.machine)
                (void)fputs(w->p.machine->start == PLAN_MACHINE_WAKES
                                    ? ", starts with a saved machine"
                                    : ", boots its machine",
                            out);
        if (w->p.machine && w->p.machine->why)
                (void)fprintf(out, " (%s)", w->p.machine->why);
        (void)fprintf(out, "%s%s\n", spec->choice ? "; " : "", spec->choice ? spec->choice : "");
}

static void
print_system(FILE *out, const struct spec *spec)
{
        topic(out, "sees");
        if (!spec->image) {
                (void)fputs("the system's programs and libraries, read-only: carrel docs box\n",
                            out);
                return;
        }
        (void)fputs("the image ", out);
        print_escaped(out, spec->image, false);
        (void)fputs(spec_is_root(spec) ? ", which root may change, for this sandbox\n"
                                       : ", read-only\n",
                    out);
}

static void
print_files(FILE *out, const struct run_way *w)
{
        print_system(out, w->p.spec);
        for (size_t i = 0; i < w->p.sources->count; i++)
                print_mount(out, w, i);
        topic(out, "writes");
        (void)fprintf(out, "/tmp, %s/run and /dev/shm: private, gone with the sandbox\n",
                      is_home_mounted(w) ? "" : PLAN_HOME ", ");
        topic(out, "");
        if (w->p.plan->is_watched)
                (void)fprintf(out,
                              "/tmp%s: on disk, in %s; watched: the command is ended above %" PRIu64
                              " MiB; /run and /dev/shm are memory, and count against memory_mb\n",
                              is_home_mounted(w) ? "" : " and " PLAN_HOME, prepared_disk(&w->p),
                              w->p.plan->disk_mb);
        else if (w->p.plan->is_on_image)
                (void)fprintf(out,
                              "/tmp%s: on disk, on an image of fixed size in %s; /run and /dev/shm "
                              "are memory, and count against memory_mb\n",
                              is_home_mounted(w) ? "" : " and " PLAN_HOME, prepared_disk(&w->p));
        else
                (void)fputs("they are memory: what they hold counts against memory_mb\n", out);
        if (w->p.why_no_image) {
                topic(out, "");
                (void)fprintf(out, "cannot use the host's disk for them: %s\n", w->p.why_no_image);
        }
}

static void
print_network(FILE *out, const struct spec *spec)
{
        char text[EGRESS_TEXT_ROOM];

        topic(out, "reaches");
        if (spec->egress_count == 0)
                (void)fputs("no host\n", out);
        for (size_t i = 0; i < spec->egress_count; i++) {
                if (i > 0)
                        topic(out, "");
                (void)fputs(egress_text(&spec->egress[i], text), out);
                for (size_t p = 0; p < spec->egress[i].port_count && spec->egress[i].port_count > 1;
                     p++)
                        (void)fprintf(out, "%s%u", p > 0 ? ", " : "  ports ",
                                      spec->egress[i].ports[p]);
                (void)fputc('\n', out);
        }
}

static void
print_names(FILE *out, const char *word, const struct spec_secret_name *names, size_t count,
            const char *what)
{
        if (count == 0)
                return;
        topic(out, word);
        for (size_t i = 0; i < count; i++) {
                (void)fputs(i > 0 ? ", " : "", out);
                print_escaped(out, names[i].name, false);
        }
        (void)fprintf(out, "  %s\n", what);
}

/* As they apply to this command on this machine: defaults depend on the options and on memory. */
static struct spec_limits
limits_applied(const struct run_way *w)
{
        struct spec_limits limits = w->p.spec->limits;

        limits.timeout_ms = w->limit.ms;
        limits.pids = w->p.plan->pids;
        limits.disk_mb = w->p.plan->disk_mb;
        return limits;
}

static void
print_limits(FILE *out, const struct run_way *w)
{
        const struct spec_limits applied = limits_applied(w), *limits = &applied;
        const struct field *row;
        const char *section, *separator = "";
        uint64_t value;

        topic(out, "limited");
        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++) {
                memcpy(&value, (const char *)limits + row->offset, sizeof value);
                if (value != SPEC_UNSET)
                        (void)fprintf(out, "%s%s %" PRIu64, separator, row->name, value);
                separator = value != SPEC_UNSET ? ", " : separator;
        }
        (void)fputc('\n', out);
        topic(out, "not limited");
        separator = "";
        for (size_t i = 0; (row = host_limits_row(i, &section)) != NULL; i++) {
                memcpy(&value, (const char *)limits + row->offset, sizeof value);
                if (value == SPEC_UNSET)
                        (void)fprintf(out, "%s%s", separator, row->name);
                separator = value == SPEC_UNSET ? ", " : separator;
        }
        (void)fputc('\n', out);
}

/* Each field of the rules as it is written. */
static void
print_commands(FILE *out, const struct node *rules, const char *whose)
{
        if (!rules)
                return;
        topic(out, "may run");
        (void)fprintf(out, "what the rules for commands %s permit: docs/POLICY.md\n", whose);
        node_each(field, rules)
        {
                const char *separator = "";

                topic(out, "");
                (void)fprintf(out, "%s: ", field->key);
                if (field->kind == NODE_STRING)
                        print_escaped(out, field->text, false);
                if (field->kind == NODE_MAP)
                        (void)fputs("checks on the text", out);
                if (field->kind == NODE_LIST)
                        node_each(item, field)
                        {
                                (void)fputs(separator, out);
                                print_escaped(out, item->text ? item->text : "", false);
                                separator = ", ";
                        }
                (void)fputc('\n', out);
        }
}

void
plan_summary_print(FILE *out, const struct run_way *w)
{
        const struct spec *spec = w->p.spec;

        print_escaped(out, w->file_name ? w->file_name : "", false);
        (void)fputs(": a command\n", out);
        print_provider(out, w);
        print_files(out, w);
        print_network(out, spec);
        print_names(out, "is given", spec->env.passthrough, spec->env.passthrough_count,
                    "from your environment");
        print_names(out, "is given", spec->env.auth, spec->env.auth_count, "secrets");
        print_limits(out, w);
        print_commands(out, spec->carrel.commands, "in the manifest");
        print_commands(out, w->p.rules->commands, "in the host file");
}
