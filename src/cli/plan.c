/*
 * cli/plan.c - `carrel plan`: dry run: shows what `carrel run` would do.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/plan_summary.h"
#include "cli/prepare.h"

static int
print_plan(struct run_way *w, bool is_json, bool has_steps)
{
        struct json_writer out;
        const char *text;

        if (is_json) {
                json_init(&out, true);
                plan_write_json(&out, w->p.plan);
                return json_print(&out, stdout);
        }
        plan_summary_print(stdout, w);
        if (!has_steps) {
                (void)fputs("Each step, with undo and reason: carrel plan --steps\n", stdout);
                return 0;
        }
        text = plan_text(&w->p.arena, w->p.plan);
        if (!text)
                return 125;
        (void)fputc('\n', stdout);
        print_escaped(stdout, text, true);
        return 0;
}

/* The config.json of the container, as the runtime gets it. */
static int
print_bundle(const struct run_way *w)
{
        const struct plan *plan = w->p.plan;
        struct error e;

        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == STEP_RUNTIME)
                        return puts(plan->steps[i].text) >= 0 ? 0 : 125;
        (void)fail_at(&e, ERROR_INVALID_ARGUMENT, "--bundle", "no_container",
                      "provider %.64s makes no container, so there is no bundle",
                      w->p.spec->provider);
        error_hint(&e, "`carrel plan --steps` prints what it does.");
        return print_failure(NULL, &e, false);
}

static int
cmd_plan(int argc, char **argv)
{
        struct prepare_options o;
        static struct run_way w;
        struct error e;
        int status;

        if (prepare_options_read(&command_plan, argc, argv, &o, &e) < 0)
                return print_failure(NULL, &e, o.is_json);
        status = run_way_init(&w, &e) < 0 || prepare(&o, &w, &e) < 0
                         ? print_failure(w.file_name, &e, o.is_json)
                 : o.wants_bundle ? print_bundle(&w)
                                  : print_plan(&w, o.is_json, o.has_steps);
        if (!o.is_json) {
                print_more_errors(stderr, w.file_name, &w.p.findings);
                print_run_warnings(stderr, w.file_name, &w.p.findings);
        }
        run_way_fini(&w);
        return status;
}

/* A command line of `carrel run` is accepted, with what does not change the plan. */
static const struct option options[] = {
        FIND_OPTIONS,
        OVERRIDE_OPTIONS(struct prepare_options, overrides),
        OPTION_FLAG(struct prepare_options, has_steps, "--steps",
                    "also print every step, why it is taken and how it is undone"),
        OPTION_FLAG(struct prepare_options, is_json, "--json", "the steps as JSON"),
        OPTION_FLAG(struct prepare_options, wants_bundle, "--bundle",
                    "print the config.json that a container runtime gets"),
        OPTION_LIST(struct prepare_options, env, VALUE_VARIABLE, "-e", "NAME=VALUE", NULL),
        OPTION_LIST(struct prepare_options, env, VALUE_VARIABLE, "--env", "NAME=VALUE", NULL),
        OPTION_FLAG(struct prepare_options, wants_terminal, "-t", NULL),
        OPTION_FLAG(struct prepare_options, wants_terminal, "--tty", NULL),
        OPTION_NUMBER(struct prepare_options, timeout_ms, VALUE_DURATION, "--timeout", "T", NULL),
        OPTION_FLAG(struct prepare_options, is_raw, "--raw", NULL),
        OPTION_END,
};

const struct command command_plan = {
        .name = "plan",
        .help = "Dry run: show what a command can see, write, reach and use; with --steps each "
                "step of the creation.",
        .options = options,
        .rest = "",
        .example = "carrel plan -w examples/data-report/workspace",
        .run = cmd_plan,
};
