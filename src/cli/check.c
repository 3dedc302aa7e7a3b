/*
 * cli/check.c - `carrel check`: reports everything that is wrong with a manifest, and where.
 *
 * Room: cli (joining, program). Touches: fd, clock.
 * Knows how to ask and how to print. Knows nothing of what is right.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/scoped.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/judge.h"
#include "cli/options.h"
#include "clock/clock.h"
#include "host/facts.h"
#include "prepare/commands.h"
#include "prepare/host.h"
#include "prepare/host_file.h"
#include "prepare/lacking.h"
#include "prepare/verdict.h"
#include "ref/file.h"
#include "ref/places.h"
#include "spec/provider.h"
#include "text/nearest.h"

enum { CHECK_ARENA_MAX = 64 << 20 };

struct checking {
        const char *file, *stage_name, *host_name, *workspace;
        bool is_json;
        enum verdict_stage stage;
};

static int
read_arguments(int argc, char **argv, struct checking *c, struct error *e)
{
        struct words words;
        int stage = VERDICT_AUTHORISE;

        if (options_read(&command_check, argc, argv, c, &words, e) < 0)
                return -1;
        c->file = words.count > 0 ? words.items[0] : NULL;
        if (c->stage_name)
                stage = verdict_stage_find(c->stage_name);
        if (stage < 0)
                return fail(e, ERROR_INTERNAL, "there is no stage %.32s", c->stage_name);
        c->stage = (enum verdict_stage)stage;
        return 0;
}

/* The workspace: the named directory, else the directory of the file, else the current one. */
static const char *
workspace_of(struct arena *arena, const struct checking *c)
{
        const char *slash = c->file ? strrchr(c->file, '/') : NULL;

        if (c->workspace)
                return c->workspace;
        if (!slash)
                return ".";
        return slash == c->file ? "/" : arena_copy(arena, c->file, (size_t)(slash - c->file));
}

static int
print_json(const struct checking *c, const struct ref_manifest_file *file, const struct verdict *v,
           const struct findings *findings)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "ok", findings->error_count == 0);
        json_member_text(&w, "file", file->name);
        json_member_text(&w, "stage", verdict_stage_name(c->stage));
        if (findings->errors) {
                json_key(&w, "error");
                json_error(&w, &findings->errors->error);
        }
        json_findings(&w, findings);
        if (v->allowed && v->allowed->choice)
                json_member_text(&w, "chosen", v->allowed->choice);
        json_key(&w, "norm");
        if (findings->error_count == 0)
                verdict_norm_write(&w, v);
        else
                json_text(&w, NULL);
        json_close_map(&w);
        return json_print(&w, stdout);
}

/* Remarks on the file's style are not warnings. */
static size_t
count_warnings(const struct findings *findings)
{
        size_t count = 0;

        for (const struct warning *w = findings->warnings; w; w = w->next)
                count += !print_is_remark(w->name);
        return count;
}

static void
print_text(const struct checking *c, const char *name, const struct verdict *v,
           const struct findings *findings)
{
        size_t warnings = count_warnings(findings);

        print_findings(stdout, name, findings);
        print_escaped(stdout, name, false);
        if (findings->error_count > 0)
                (void)printf(": %zu error%s", findings->error_count,
                             findings->error_count == 1 ? "" : "s");
        else if (c->stage == VERDICT_AUTHORISE)
                (void)printf(": OK");
        else
                (void)printf(": OK up to the stage %s", verdict_stage_name(c->stage));
        if (findings->error_count == 0 && v && v->allowed && v->allowed->choice)
                (void)printf("; provider %s: %s", v->allowed->provider, v->allowed->choice);
        if (warnings > 0)
                (void)printf(", %zu warning%s", warnings, warnings == 1 ? "" : "s");
        (void)printf("%s\n", findings->error_count == 0 && v && v->written.form == MANIFEST_NONE
                                     ? "; it declares no sandbox, so no command may run"
                                     : "");
}

/* Entries of commands_disallowed are commands: they are read as those that run. */
static int
check_commands(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
               struct findings *findings, struct error *e)
{
        struct judge_request request = { .word_count = 0 };
        struct host_programs programs;
        struct judgement judgement;
        size_t list;

        if (!prepare_has_rules(spec, rules))
                return 0;
        prepare_rules(spec, rules, &request);
        host_programs_init(&programs, arena, AT_FDCWD);
        if (judge_command(arena, &request, &programs, &judgement, &list, e) == 0)
                return 0;
        (void)prepare_refuse_rules(spec, rules, list, e);
        findings_add(findings, e);
        return -1;
}

static int
judge_and_print(struct arena *arena, const struct checking *c, const struct ref_manifest_file *file,
                const struct verdict_host *host, struct error *e)
{
        struct findings findings;
        struct verdict v;
        int status = 0;

        findings_init(&findings, arena);
        if (verdict_reach(arena, file, c->stage, host, &v, &findings, e) < 0 ||
            (host && v.allowed && check_commands(arena, v.allowed, host->rules, &findings, e) < 0))
                status = error_exit_status(e->code);
        if (c->is_json)
                return print_json(c, file, &v, &findings) != 0 ? 125 : status;
        print_text(c, file->name, &v, &findings);
        return status;
}

static int
load_host(struct arena *arena, const struct checking *c, struct host_file *ret, struct error *e)
{
        struct host_facts *facts = arena_new(arena, struct host_facts);
        struct host_ability real;

        if (!facts)
                return fail(e, ERROR_NO_MEMORY, "no memory for the facts of this machine");
        if (host_facts_read(facts, e) < 0)
                return -1;
        real = prepare_local_ability(facts, false);
        if (host_file_load(arena, c->host_name, &real, 0, NULL, ret, e) < 0)
                return -1;
        lacking_note(facts, ret->rules);
        return 0;
}

/* From resolve on, the host's rules and the start directory of references are needed. */
static int
check_with_host(struct arena *arena, const struct checking *c, const struct ref_manifest_file *file,
                const char *workspace, int *ret_status, const char **ret_about, struct error *e)
{
        scoped_fd int dir = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct ref_places places;
        struct host_file rules = { .name = NULL };
        struct verdict_host host;

        if (dir < 0)
                return ref_workspace_refuse(workspace, errno, e);
        if (load_host(arena, c, &rules, e) < 0) {
                *ret_about = rules.name;
                return -1;
        }
        places = (struct ref_places){ .workspace = dir, .host = rules.tree };
        host = (struct verdict_host){ rules.rules, ref_places_reader(&places),
                                      (int64_t)(clock_wall_ms() / 1000) };
        *ret_status = judge_and_print(arena, c, file, &host, e);
        return 0;
}

/* An id without a program can only be a provider of Carrel's own. */
static void
warn_providers(const struct host_rules *rules, struct findings *findings)
{
        for (size_t i = 0; rules && i < rules->providers.count; i++) {
                const struct host_provider *p = &rules->providers.items[i];
                struct nearest nearest = nearest_begin(p->id);

                if (p->program.argv.count > 0 || provider_find(p->id))
                        continue;
                for (size_t k = 0; k < provider_count; k++)
                        (void)nearest_try(&nearest, providers[k].id, providers[k].id);
                findings_warn(findings, "provider_without_program", "providers", 0, 0,
                              "the provider \"%.64s\" has no program, so nothing runs its "
                              "sandboxes%s%s%s",
                              p->id, nearest.found ? "; did you mean " : "",
                              nearest.found ? nearest.found : "", nearest.found ? "?" : "");
        }
}

/* A host file by itself: --host names one, and there is no manifest. */
static int
check_host_alone(struct arena *arena, const struct checking *c, const char **ret_about,
                 struct error *e)
{
        static const struct spec none;
        struct host_file rules = { .name = NULL };
        struct findings findings;
        struct json_writer w;

        *ret_about = c->host_name;
        findings_init(&findings, arena);
        if (load_host(arena, c, &rules, e) < 0 ||
            check_commands(arena, &none, rules.rules, &findings, e) < 0)
                return -1;
        warn_providers(rules.rules, &findings);
        if (!c->is_json) {
                print_text(c, c->host_name, NULL, &findings);
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "ok", true);
        json_member_text(&w, "file", c->host_name);
        json_findings(&w, &findings);
        json_close_map(&w);
        return json_print(&w, stdout) == 0
                       ? 0
                       : fail(e, ERROR_STORAGE_FULL, "standard output could not be written");
}

/* Up to validate only the manifest itself is opened (AIP-36 rule 5). */
static int
check(struct arena *arena, const struct checking *c, int *ret_status, const char **ret_about,
      struct error *e)
{
        const char *workspace = workspace_of(arena, c);
        struct ref_manifest_file file;

        if (!workspace)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        if ((c->file ? ref_manifest_open(arena, c->file, NULL, &file, e)
                     : ref_manifest_find(arena, workspace, NULL, &file, e)) < 0)
                return c->host_name && !c->file && !c->workspace && e->code == ERROR_NOT_CONFIGURED
                               ? check_host_alone(arena, c, ret_about, e)
                               : -1;
        if (c->stage >= VERDICT_RESOLVE)
                return check_with_host(arena, c, &file, workspace, ret_status, ret_about, e);
        *ret_status = judge_and_print(arena, c, &file, NULL, e);
        return 0;
}

static int
cmd_check(int argc, char **argv)
{
        struct checking c = { .file = NULL };
        const char *about; /* the file that an error is about */
        struct arena arena;
        struct error e;
        int status = 0;

        if (read_arguments(argc, argv, &c, &e) < 0)
                return print_failure(NULL, &e, c.is_json);
        arena_init(&arena, CHECK_ARENA_MAX);
        about = c.file;
        if (check(&arena, &c, &status, &about, &e) < 0)
                status = print_failure(about, &e, c.is_json);
        arena_fini(&arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct checking, workspace, VALUE_DIRECTORY, "-w", "DIR",
                    "the workspace (default: the directory of FILE)"),
        OPTION_TEXT(struct checking, workspace, VALUE_DIRECTORY, "--workspace", "DIR", NULL),
        OPTION_TEXT(struct checking, stage_name, VALUE_STAGE, "--stage",
                    "parse|validate|resolve|authorise", "last stage to check (default: authorise)"),
        OPTION_TEXT(struct checking, host_name, VALUE_FILE, "--host", "FILE", HOST_FILE_DOC),
        OPTION_FLAG(struct checking, is_json, "--json",
                    "one JSON object: error, errors, warnings, norm"),
        OPTION_END,
};

static const struct operand operands[] = {
        { "[FILE]", VALUE_FILE, MANIFEST_DOC },
        { NULL },
};

const struct command command_check = {
        .name = "check",
        .help = "Report every error in a manifest, and where it is; with --host and no manifest, "
                "in the host file.",
        .options = options,
        .operands = operands,
        .example = "carrel check examples/data-report/workspace/SANDBOX.md",
        .run = cmd_check,
};
