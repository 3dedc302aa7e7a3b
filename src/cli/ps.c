/*
 * cli/ps.c - `carrel ps`: lists the execs of a sandbox, running and kept.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <inttypes.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

enum { CELL = 64 };

/* "running", or how it ended: "exited 3", "signaled 15", "timed_out". */
static const char *
state_text(const struct carrel_exec_info *x, char *out)
{
        if (!x->has_end)
                (void)snprintf(out, CELL, "%.*s", CELL - 1, x->state);
        else if (x->end.signal > 0)
                (void)snprintf(out, CELL, "%s %d", x->end.outcome, x->end.signal);
        else if (x->end.exit_code >= 0)
                (void)snprintf(out, CELL, "%s %d", x->end.outcome, x->end.exit_code);
        else
                (void)snprintf(out, CELL, "%s", x->end.outcome);
        return out;
}

static void
print_rows(const struct carrel_execs *all, struct table *t, FILE *out)
{
        static const char *const heads[] = {
                "EXEC", "STATE", "STARTED", "TOOK", "OUTPUT", "COMMAND"
        };

        table_row(t, out, heads, 6);
        for (size_t i = 0; i < all->count; i++) {
                const struct carrel_exec_info *x = &all->items[i];
                char number[CELL], state[CELL], age[SPAN_TEXT], ago[SPAN_TEXT + 4], took[SPAN_TEXT],
                        bytes[CELL];
                const char *cells[] = {
                        number, state_text(x, state),
                        ago,    x->has_end ? span_text(x->end.duration_ms, took) : "-",
                        bytes,  x->command ? x->command : "-"
                };

                (void)snprintf(number, sizeof number, "%" PRIu32 "%s", x->exec,
                               x->is_background ? "&" : "");
                (void)snprintf(ago, sizeof ago, "%s ago",
                               span_text(span_since(x->started_at_ms), age));
                (void)snprintf(bytes, sizeof bytes, "%" PRIu64,
                               x->end.stdout_bytes + x->end.stderr_bytes);
                table_row(t, out, cells, 6);
        }
}

static int
print_json(const struct carrel_execs *all)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "items");
        json_open_list(&w);
        for (size_t i = 0; i < all->count; i++)
                json_exec(&w, &all->items[i]);
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
cmd_ps(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        struct table t = { .widths = { 0 } };
        struct carrel_error failed;
        struct carrel_execs *all;
        struct error e;
        int status;

        if (ask_read(&a, &command_ps, argc, argv, &a, &e) < 0)
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_exec_list(a.c, a.words[0], &all, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        if (a.is_json) {
                status = print_json(all);
        } else if (all->count == 0) {
                (void)puts("Nothing was run in it yet.");
        } else {
                print_rows(all, &t, NULL);
                print_rows(all, &t, stdout);
        }
        carrel_free(all);
        return ask_close(&a, status);
}

const struct command command_ps = {
        .name = "ps",
        .help = "List the execs of a sandbox, running and kept.",
        .options = ask_options,
        .operands = ask_sandbox,
        .needs = ASK_NEEDS,
        .example = "carrel ps demo",
        .run = cmd_ps,
};
