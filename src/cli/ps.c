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

static const char *const heads[] = { "EXEC", "STATE", "STARTED", "TOOK", "OUTPUT", "COMMAND" };

static void
print_row(struct table *t, FILE *out, const void *item)
{
        const struct carrel_exec_info *x = item;
        char number[CELL], state[CELL], age[SPAN_TEXT], ago[SPAN_TEXT + 4], took[SPAN_TEXT],
                bytes[CELL];
        const char *cells[] = { number, state_text(x, state),
                                ago,    x->has_end ? span_text(x->end.duration_ms, took) : "-",
                                bytes,  x->command ? x->command : "-" };

        (void)snprintf(number, sizeof number, "%" PRIu32 "%s", x->exec,
                       x->is_background ? "&" : "");
        (void)snprintf(ago, sizeof ago, "%s ago", span_text(span_since(x->started_at_ms), age));
        (void)snprintf(bytes, sizeof bytes, "%" PRIu64, x->end.stdout_bytes + x->end.stderr_bytes);
        table_row(t, out, cells, 6);
}

static int
cmd_ps(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        struct carrel_error failed;
        struct carrel_execs *all;
        struct error e;
        int status;

        if (ask_parse(&a, &command_ps, argc, argv, &a, &e) < 0)
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_exec_list(a.c, a.words[0], &all, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        if (a.is_json)
                status = ask_json(OP_EXEC_LIST, all);
        else
                list_print(&(struct list){ all->items, all->count, sizeof *all->items,
                                           "Nothing was run in it yet.", heads, 6, print_row });
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
