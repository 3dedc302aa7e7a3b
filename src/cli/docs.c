/*
 * cli/docs.c - `carrel docs`: prints the parts of the manual that come from tables.
 *
 * Room: cli (joining, program). Touches: fd (standard output).
 * Theory: a fact is written once, in the table by which the program itself works. Pages in docs/
 * contain these parts within hand-written text; docs/GENERATED lists them, and a test compares. The
 * content of a box is read from a plan that the planner really makes, for an empty manifest and a
 * host that supports everything.
 */
#include <stdio.h>
#include <string.h>

#include "base/below.h"
#include "base/numbers.h"
#include "cli/commands.h"
#include "cli/doc_table.h"
#include "cli/docs_api.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "egress/admit.h"
#include "host/places.h"
#include "outcome/outcome.h"
#include "plan/plan.h"
#include "plan/protect.h"
#include "policy/host_fields.h"
#include "prepare/verdict.h"
#include "spec/help.h"
#include "spec/preset.h"
#include "spec/provider.h"
#include "text/nearest.h"

enum { ARENA_MAX = 4 << 20, NUMBER_MAX = 24, TERM_MAX = 1024, PART_WORD_MAX = 32 };

static void
columns(struct doc_table *sheet, const char *const *heads)
{
        sheet->heads = heads;
        sheet->has_table = false;
}

/* -- the command line -------------------------------------------------------------------------- */

static void
print_row(struct doc_table *sheet, const char *term, const char *doc)
{
        const char *cells[] = { term, doc, NULL };

        doc_table_row(sheet, cells);
}

static void
print_options(struct doc_table *sheet, const struct command *c)
{
        static const char *const heads[] = { "option", "meaning", NULL };
        char term[USAGE_TERM_MAX], doc[TERM_MAX];

        columns(sheet, heads);
        for (const struct operand *o = c->operands; o && o->name; o++)
                if (o->doc)
                        print_row(sheet, usage_operand(o, term), o->doc);
        for (const struct option *row = c->options; row && row->name; row++)
                if (row->doc)
                        print_row(sheet, usage_option(row, term), usage_doc(row, doc, sizeof doc));
}

static int
print_commands(struct doc_table *sheet)
{
        const struct command *c;

        for (size_t i = 0; (c = command_at(i)) != NULL; i++) {
                char line[USAGE_MAX + 64], usage[USAGE_MAX];

                doc_table_title(sheet, 2, c->name);
                usage_line(c, usage, sizeof usage);
                (void)snprintf(line, sizeof line, "`carrel %s`%s", c->name, usage);
                doc_table_paragraph(sheet, line);
                doc_table_paragraph(sheet, c->help);
                print_options(sheet, c);
                if (c->notes)
                        doc_table_paragraph(sheet, c->notes);
                (void)snprintf(line, sizeof line, "Example: `%s`", c->example);
                doc_table_paragraph(sheet, line);
        }
        return 0;
}

static int
print_statuses(struct doc_table *sheet)
{
        static const char *const heads[] = { "status", "meaning", NULL };
        static const char *const rows[][3] = {
                { "0 to 123",
                  "`run`, `exec` and `output --follow`: the command's own status; any other "
                  "command: 0 is yes, or done",
                  NULL },
                { "124", "`run`, `exec`: the command ran into limits.timeout_ms or --timeout",
                  NULL },
                { "125", "a failure of carrel itself, or of how it was called", NULL },
                { "126",
                  "refused: by the manifest, by the host's rules, or because this machine cannot "
                  "enforce it",
                  NULL },
                { "127",
                  "`run`, `exec`: there is no such command inside the sandbox; `cp`: no such file",
                  NULL },
                { "128 + N", "`run`, `exec`: signal N ended the command", NULL },
                { "137", "`run`, `exec`: killed, because of a limit or on request", NULL },
        };

        columns(sheet, heads);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                doc_table_row(sheet, rows[i]);
        return 0;
}

static int
print_outcomes(struct doc_table *sheet)
{
        static const char *const heads[] = { "event", "exit status", "error", "meaning", NULL };

        columns(sheet, heads);
        for (int word = 0; word < OUTCOME_MAX; word++) {
                int status = outcome_word_status((enum outcome_word)word);
                enum error_code code = outcome_error((enum outcome_word)word);
                char number[NUMBER_MAX];
                const char *cells[] = { outcome_name((enum outcome_word)word), number,
                                        code == ERROR_NONE ? "" : error_wire_name(code),
                                        outcome_help((enum outcome_word)word), NULL };

                if (status >= 0)
                        (void)snprintf(number, sizeof number, "%d", status);
                else
                        (void)snprintf(number, sizeof number, "%s",
                                       word == OUTCOME_SIGNALED ? "128 + the signal" : "its own");
                doc_table_row(sheet, cells);
        }
        return 0;
}

/* For one destination, as an agent reads them. */
static int
print_denials(struct doc_table *sheet)
{
        static const char *const heads[] = { "reason", "what is said, and what to do", NULL };

        columns(sheet, heads);
        for (int d = DENIAL_NONE + 1; d < DENIAL_MAX; d++) {
                char text[1024];
                const char *cells[] = { denial_name((enum denial)d), text, NULL };

                (void)denial_text((enum denial)d, "api.example.com", 443, "other.example.com", text,
                                  sizeof text);
                doc_table_row(sheet, cells);
        }
        return 0;
}

static int
print_refusals(struct doc_table *sheet)
{
        static const char *const heads[] = { "listed", "of what was refused", NULL };
        static const char *const rows[][3] = {
                { NUMBER_TEXT(NUMBER_REFUSALS_LISTED), "to one command: the first different things",
                  NULL },
                { NUMBER_TEXT(NUMBER_REFUSALS_HELD),
                  "to all commands of a sandbox together: beyond, the list of the first one that "
                  "has ended becomes a number",
                  NULL },
                { NUMBER_TEXT(NUMBER_REFUSALS_FIRST), "in a sandbox: the first different things",
                  NULL },
                { NUMBER_TEXT(NUMBER_REFUSALS_LAST), "in a sandbox: of the others the last", NULL },
        };

        columns(sheet, heads);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                doc_table_row(sheet, rows[i]);
        return 0;
}

static int
print_errors(struct doc_table *sheet)
{
        static const char *const heads[] = { "code", "exit status", "HTTP", "what to do", NULL };

        columns(sheet, heads);
        for (int code = ERROR_NONE + 1; code < ERROR_MAX; code++) {
                char status[NUMBER_MAX], http[NUMBER_MAX];
                const char *cells[] = { error_wire_name((enum error_code)code), status, http,
                                        error_code_hint((enum error_code)code), NULL };

                (void)snprintf(status, sizeof status, sheet->is_man ? "exit %d" : "%d",
                               error_exit_status((enum error_code)code));
                (void)snprintf(http, sizeof http, sheet->is_man ? "HTTP %d" : "%d",
                               error_http_status((enum error_code)code));
                doc_table_row(sheet, cells);
        }
        return 0;
}

/* -- the manifest ------------------------------------------------------------------------------ */

static void
print_field(void *ctx, const struct spec_help_row *row)
{
        static const char *const heads[] = { "field", "value", "meaning", NULL };
        struct doc_table *sheet = ctx;
        const char *cells[] = { row->path, row->value, row->meaning, NULL };

        if (!row->title) {
                doc_table_row(sheet, cells);
                return;
        }
        doc_table_title(sheet, 2, row->title);
        if (*row->meaning != '\0')
                doc_table_paragraph(sheet, row->meaning);
        columns(sheet, heads);
}

static int
print_fields(struct doc_table *sheet)
{
        struct arena arena;
        const char *text;

        if (sheet->is_man) {
                spec_help_rows(print_field, sheet);
                return 0;
        }
        arena_init(&arena, ARENA_MAX);
        text = spec_help_text(&arena);
        if (text)
                (void)fputs(text, sheet->out);
        arena_fini(&arena);
        return text ? 0 : 125;
}

static void
print_host_field(void *ctx, const struct spec_help_row *row)
{
        enum host_field field = host_field_find(row->path);
        const char *cells[] = { row->path, row->value,
                                field != HOST_FIELD_MAX && host_field_is_users(field) ? "yes" : "",
                                row->meaning, NULL };

        if (field != HOST_FIELD_MAX) /* members of a map are in the schema */
                doc_table_row(ctx, cells);
}

static int
print_host(struct doc_table *sheet)
{
        static const char *const heads[] = { "field", "value", "in a user's file", "meaning",
                                             NULL };

        columns(sheet, heads);
        spec_help_set_rows(&host_file_set, print_host_field, sheet);
        return 0;
}

static int
print_presets(struct doc_table *sheet)
{
        static const char *const heads[] = { "preset", "hosts", "for", NULL };
        const struct egress_preset *preset;

        columns(sheet, heads);
        for (size_t i = 0; (preset = egress_preset_at(i)) != NULL; i++) {
                char hosts[TERM_MAX] = "";
                const char *cells[] = { preset->name, hosts, preset->help, NULL };

                for (size_t h = 0; preset->hosts[h]; h++) {
                        size_t used = strlen(hosts);

                        (void)snprintf(hosts + used, sizeof hosts - used, "%s%s", h > 0 ? ", " : "",
                                       preset->hosts[h]);
                }
                doc_table_row(sheet, cells);
        }
        return 0;
}

static int
print_protected(struct doc_table *sheet)
{
        static const char *const heads[] = {
                "name", "program", "why", "where it exists", "where it does not", NULL
        };
        size_t count;
        const struct protect_row *rows = protect_rows(&count);

        columns(sheet, heads);
        for (size_t i = 0; i < count; i++) {
                bool is_ending = rows[i].path[0] == '*',
                     may_be_made = (rows[i].flags & PROTECT_MAKE) != 0,
                     is_judged = (rows[i].flags & PROTECT_JUDGE) != 0;
                const char *cells[] = { rows[i].path,
                                        rows[i].program,
                                        rows[i].why,
                                        may_be_made ? "as the rows below"
                                        : is_judged ? "settings that run nothing may be changed"
                                        : (rows[i].flags & PROTECT_ALWAYS) != 0
                                                ? "read-only"
                                                : "read-only, or content if tracked",
                                        may_be_made ? "may be made, reported"
                                        : is_ending ? "not guarded"
                                        : is_judged ? "may be made of such settings"
                                        : (rows[i].flags & PROTECT_DEEP) != 0
                                                ? "moved away, below the top too"
                                                : "moved away",
                                        NULL };

                doc_table_row(sheet, cells);
        }
        return 0;
}

/* -- the pools --------------------------------------------------------------------------------- */

static const struct {
        const char *resource, *v1, *v2, *none;
} pools[] = {
#define POOL(resource, v1, v2, none, test, limit) { resource, v1, v2, none },
#include "plan/pools.def"
#undef POOL
};

static int
print_pools(struct doc_table *sheet)
{
        static const char *const heads[] = { "resource", "version 1 of control groups", "version 2",
                                             "without", NULL };

        columns(sheet, heads);
        for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
                const char *cells[] = { pools[i].resource, pools[i].v1, pools[i].v2, pools[i].none,
                                        NULL };

                doc_table_row(sheet, cells);
        }
        return 0;
}

/* -- the box ----------------------------------------------------------------------------------- */

static const char manifest[] =
        "---\nschema: sandbox/v1\nprovider: " PROVIDER_STANDARD "\nconfig: {}\n---\n";

static void
make_host(struct host_facts *facts)
{
        size_t dirs, items;
        const struct place_row *dir = host_dir_rows(&dirs), *etc = host_etc_rows(&items);

        *facts = (struct host_facts){ .landlock_abi = 6,
                                      .has_seccomp = true,
                                      .has_user_ns = true,
                                      .has_openat2 = true,
                                      .has_clone3 = true,
                                      .has_mount_api = true,
                                      .has_idmap = true,
                                      .has_pidfd = true,
                                      .has_close_range = true,
                                      .has_wall = true,
                                      .cpu_count = 1,
                                      .cpus = { "0", "0", "0" },
                                      .uid = 1000,
                                      .gid = 1000 };
        for (; facts->dir_count < dirs && facts->dir_count < HOST_DIRS_MAX; facts->dir_count++)
                facts->dirs[facts->dir_count].path = dir[facts->dir_count].path;
        for (; facts->etc_count < items && facts->etc_count < HOST_ETC_MAX; facts->etc_count++)
                facts->etc[facts->etc_count].path = etc[facts->etc_count].path;
}

static int
make_plan(struct arena *arena, const struct plan **ret, struct error *e)
{
        struct ref_manifest_file file = { .name = "SANDBOX.md",
                                          .bytes = manifest,
                                          .len = sizeof manifest - 1,
                                          .kind = MANIFEST_STANDALONE,
                                          .syntax = MANIFEST_YAML };
        struct plan_request request = {
                .id = "0000000000000000", .outside_uid = 1000, .outside_gid = 1000, .gitconfig = ""
        };
        struct findings findings;
        struct host_facts facts;
        struct verdict v;

        findings_init(&findings, arena);
        make_host(&facts);
        if (verdict_reach(arena, &file, VERDICT_VALIDATE, NULL, &v, &findings, e) < 0)
                return -1;
        return plan_build(arena, v.spec, &facts, &request, ret, &findings, e);
}

/* What a box contains by default, in groups; a step belongs to the first group that takes it. */
enum group {
        GROUP_PROGRAMS,
        GROUP_ETC_MADE,
        GROUP_ETC_SHOWN,
        GROUP_PRIVATE,
        GROUP_DEVICES,
        GROUP_HIDDEN,
        GROUP_MAX
};

static const char *const group_titles[GROUP_MAX] = {
        [GROUP_PROGRAMS] = "Of the host, read-only, where it exists",
        [GROUP_ETC_MADE] = "Made for each sandbox",
        [GROUP_ETC_SHOWN] = "Of the host's /etc, read-only, where it exists",
        [GROUP_PRIVATE] = "Private, writable, gone with the sandbox",
        [GROUP_DEVICES] = "Devices and terminals",
        [GROUP_HIDDEN] = "Hidden, or read-only, in /proc",
};

static enum group
group_of(const struct step *s)
{
        switch (s->op) {
        case STEP_BIND:
                return path_below(s->path, "/etc") ? GROUP_ETC_SHOWN : GROUP_PROGRAMS;
        case STEP_PRIVATE:
                return GROUP_PRIVATE;
        case STEP_LINK:
                return path_below(s->path, "/var") ? GROUP_PRIVATE
                                                   : GROUP_MAX; /* /var/tmp is /tmp */
        case STEP_FILE:
                return path_below(s->path, "/etc") || path_below(s->path, "/sys") ? GROUP_ETC_MADE
                                                                                  : GROUP_MAX;
        case STEP_DEVICE:
        case STEP_DEVPTS:
        case STEP_MQUEUE:
                return GROUP_DEVICES;
        case STEP_MASK:
        case STEP_FREEZE:
                return GROUP_HIDDEN;
        default:
                return GROUP_MAX;
        }
}

/* The host's table has a better reason than the plan's general one. */
static const char *
reason_of(const struct step *s)
{
        size_t counts[2];
        const struct place_row *tables[2] = { host_dir_rows(&counts[0]),
                                              host_etc_rows(&counts[1]) };

        for (size_t t = 0; t < 2; t++)
                for (size_t i = 0; i < counts[t]; i++)
                        if (s->op == STEP_BIND && strcmp(tables[t][i].path, s->path) == 0)
                                return tables[t][i].why;
        return s->why;
}

/* One row for consecutive entries with the same reason. Returns whether there was one. */
static bool
print_group(struct doc_table *sheet, const struct plan *plan, enum group group)
{
        char term[TERM_MAX] = "";
        const char *why = NULL;
        bool has_rows = false;

        for (size_t i = 0; i <= plan->step_count; i++) {
                const struct step *s = i < plan->step_count ? &plan->steps[i] : NULL;
                size_t used = strlen(term);

                if (s && group_of(s) != group)
                        continue;
                if (why && (!s || strcmp(why, reason_of(s)) != 0)) {
                        const char *cells[] = { term, why, NULL };

                        doc_table_row(sheet, cells);
                        has_rows = true;
                        used = 0;
                }
                if (s)
                        (void)snprintf(term + used, sizeof term - used, "%s%s",
                                       used > 0 ? ", " : "", s->path);
                why = s ? reason_of(s) : NULL;
        }
        return has_rows;
}

static int
print_box(struct doc_table *sheet)
{
        static const char *const heads[] = { "path", "why", NULL };
        const struct plan *plan;
        struct arena arena;
        struct error e;
        int result;

        arena_init(&arena, ARENA_MAX);
        result = make_plan(&arena, &plan, &e);
        for (int group = 0; result == 0 && group < GROUP_MAX; group++) {
                doc_table_title(sheet, 2, group_titles[group]);
                columns(sheet, heads);
                /* otherwise a renamed step would be missing from the page unnoticed */
                if (!print_group(sheet, plan, (enum group)group))
                        result = fail(&e, ERROR_INTERNAL,
                                      "no step of the plan is listed under \"%s\"",
                                      group_titles[group]);
        }
        arena_fini(&arena);
        return result == 0 ? 0 : print_failure(NULL, &e, false);
}

static int
print_steps(struct doc_table *sheet)
{
        static const char *const heads[] = { "step", "phase",          "arguments",
                                             "undo", "why it is safe", NULL };

        columns(sheet, heads);
        for (int op = 0; op < STEP_MAX; op++) {
                const char *cells[] = { step_name((enum step_op)op),
                                        step_phase_name(step_phase_of((enum step_op)op)),
                                        step_arguments((enum step_op)op),
                                        step_undo((enum step_op)op),
                                        step_safe((enum step_op)op),
                                        NULL };

                doc_table_row(sheet, cells);
        }
        return 0;
}

/* -------------------------------------------------------------------------------------------------------------
 */

static int print_parts(struct doc_table *sheet);

static const struct part {
        const char *name, *help;
        int (*print)(struct doc_table *sheet);
} parts[] = {
        { "commands", "every command with its options", print_commands },
        { "statuses", "exit statuses", print_statuses },
        { "outcomes", "how a command in a sandbox can end", print_outcomes },
        { "errors", "every error code, with what to do", print_errors },
        { "fields", "every field of a sandbox block", print_fields },
        { "host", "every field of a host file", print_host },
        { "presets", "names for lists of hosts in network.egress", print_presets },
        { "protected", "names in a workspace that stay read-only inside", print_protected },
        { "box", "what a sandbox contains by default", print_box },
        { "pools", "kernel resources that a process can use, and what limits each", print_pools },
        { "steps", "every step a plan can hold", print_steps },
        { "denials", "every reason why a connection is refused, with the fix", print_denials },
        { "refusals", "how much of what was refused is listed", print_refusals },
        { "api", "every operation of the daemon, with its fields", docs_api_print },
        { "events", "every event of a sandbox, with its members", docs_api_print_events },
        { "openapi", "the same as an OpenAPI 3.1 document", docs_api_print_openapi },
        { "parts", "this list", print_parts },
};

enum { PART_COUNT = sizeof parts / sizeof *parts };

static int
print_parts(struct doc_table *sheet)
{
        static const char *const heads[] = { "part", "what it holds", NULL };

        columns(sheet, heads);
        for (size_t i = 0; i < PART_COUNT; i++) {
                const char *cells[] = { parts[i].name, parts[i].help, NULL };

                doc_table_row(sheet, cells);
        }
        return 0;
}

static int
cmd_docs(int argc, char **argv)
{
        struct doc_table sheet = { .out = stdout };
        const char *name = "parts";
        struct words words;
        struct nearest n;
        struct error e;

        if (options_read(&command_docs, argc, argv, &sheet, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        if (words.count > 0)
                name = words.items[0];
        for (size_t i = 0; i < PART_COUNT; i++)
                if (strcmp(parts[i].name, name) == 0)
                        return parts[i].print(&sheet);
        n = nearest_begin(name);
        for (size_t i = 0; i < PART_COUNT; i++)
                (void)nearest_try(&n, parts[i].name, parts[i].name);
        (void)fail(&e, ERROR_INVALID_ARGUMENT, "the manual has no part called %.*s", PART_WORD_MAX,
                   name);
        error_hint(&e, "%s%s%s`carrel docs` lists the parts.", n.found ? "Did you mean " : "",
                   n.found ? n.found : "", n.found ? "? " : "");
        return print_failure(NULL, &e, false);
}

static const struct option options[] = {
        OPTION_FLAG(struct doc_table, is_man, "--man",
                    "for a manual page (scdoc); without it, Markdown"),
        OPTION_END,
};

static const struct operand operands[] = { { "[PART]", VALUE_TEXT }, { NULL } };

const struct command command_docs = {
        .name = "docs",
        .help = "Print a section of the reference manual.",
        .options = options,
        .operands = operands,
        .example = "carrel docs errors",
        .run = cmd_docs,
};
