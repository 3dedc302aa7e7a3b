/*
 * cli/plan.c - `carrel plan`: dry run: shows what `carrel run` would do.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 */
#include <stdio.h>
#include <string.h>

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

/* Removes the option from argv: `carrel run` reads the rest with the same table. */
static bool
take_steps(int *argc, char **argv)
{
        bool is_there = false;
        int kept = 1;

        for (int i = 1; i < *argc; i++) {
                if (strcmp(argv[i], "--steps") == 0)
                        is_there = true;
                else
                        argv[kept++] = argv[i];
        }
        argv[kept] = NULL;
        *argc = kept;
        return is_there;
}

int
cmd_plan(int argc, char **argv)
{
        struct prepare_options o;
        static struct run_way w;
        struct error e;
        bool has_steps = take_steps(&argc, argv);
        int status;

        if (prepare_options_read(argc, argv, &o, &e) < 0)
                return print_failure(NULL, &e, o.is_json);
        status = run_way_init(&w, &e) < 0 || prepare(&o, &w, &e) < 0
                         ? print_failure(w.file_name, &e, o.is_json)
                         : print_plan(&w, o.is_json, has_steps);
        if (!o.is_json) {
                print_more_errors(stderr, w.file_name, &w.p.findings);
                print_run_warnings(stderr, w.file_name, &w.p.findings);
        }
        run_way_fini(&w);
        return status;
}
