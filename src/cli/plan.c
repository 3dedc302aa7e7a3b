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
print_plan(struct prepared *p, bool is_json)
{
        struct json_writer w;
        const char *text;

        if (is_json) {
                json_init(&w, true);
                plan_write_json(&w, p->plan);
                return json_print(&w, stdout);
        }
        text = plan_text(&p->arena, p->plan);
        if (!text)
                return 125;
        print_escaped(stdout, text, true);
        return 0;
}

int
cmd_plan(int argc, char **argv)
{
        struct prepare_options o;
        static struct prepared p;
        struct error e;
        int status;

        if (prepare_options_read(argc, argv, &o, &e) < 0)
                return print_failure(NULL, &e, o.is_json);
        status = prepared_init(&p, &e) < 0 || prepare(&o, &p, &e) < 0 ? print_failure(p.file_name, &e, o.is_json) : print_plan(&p, o.is_json);
        if (!o.is_json) {
                print_more_errors(stderr, p.file_name, &p.findings);
                print_run_warnings(stderr, p.file_name, &p.findings);
        }
        prepared_fini(&p);
        return status;
}
