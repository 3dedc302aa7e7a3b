/*
 * cli/plan.c - `carrel plan`: what `carrel run` would do, step by step, without doing it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/prepare.h"

static int
print_plan(struct run_way *w, bool is_json)
{
        struct json_writer out;
        const char *text;

        if (is_json) {
                json_init(&out, true);
                plan_write_json(&out, w->p.plan);
                return json_print(&out, stdout);
        }
        text = plan_text(&w->p.arena, w->p.plan);
        if (!text)
                return 125;
        print_escaped(stdout, text, true);
        return 0;
}

int
cmd_plan(int argc, char **argv)
{
        struct prepare_options o;
        static struct run_way w;
        struct error e;
        int status;

        if (prepare_options_read(argc, argv, &o, &e) < 0)
                return print_failure(NULL, &e, o.is_json);
        status = run_way_init(&w, &e) < 0 || prepare(&o, &w, &e) < 0 ? print_failure(w.file_name, &e, o.is_json) : print_plan(&w, o.is_json);
        if (!o.is_json) {
                print_more_errors(stderr, w.file_name, &w.p.findings);
                print_run_warnings(stderr, w.file_name, &w.p.findings);
        }
        run_way_fini(&w);
        return status;
}
