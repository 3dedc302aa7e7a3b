/*
 * cli/ls.c - `carrel ls`: lists the sandboxes of the daemon.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

static const char *const heads[] = { "ID", "NAME", "STATUS", "AGE", "LEFT", "WITH" };

static void
print_row(struct table *t, FILE *out, const void *item)
{
        const struct carrel_sandbox *s = item;
        char age[SPAN_TEXT], left[SPAN_TEXT];
        const char *cells[] = { s->id,
                                s->name ? s->name : "-",
                                s->status,
                                span_text(span_since(s->created_at_ms), age),
                                s->remaining_ms == CARREL_NONE ? "-"
                                                               : span_text(s->remaining_ms, left),
                                s->runtime    ? s->runtime
                                : s->provider ? s->provider
                                              : "-" };

        table_row(t, out, cells, 6);
}

struct listing {
        struct ask ask;
        bool is_quiet;
};

static int
cmd_ls(int argc, char **argv)
{
        struct listing l = { .is_quiet = false };
        struct ask *a = &l.ask;
        struct carrel_sandboxes *all;
        struct carrel_error failed;
        struct error e;
        int status;

        if (ask_parse(a, &command_ls, argc, argv, &l, &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        if (carrel_list(a->c, &all, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        for (size_t i = 0; l.is_quiet && !a->is_json && i < all->count; i++) {
                print_escaped(stdout, all->items[i].id, false);
                (void)fputc('\n', stdout);
        }
        if (a->is_json)
                status = ask_json(OP_LIST, all);
        else if (!l.is_quiet)
                list_print(&(struct list){ all->items, all->count, sizeof *all->items,
                                           "There is no sandbox. `carrel create` makes one.", heads,
                                           6, print_row });
        carrel_free(all);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_FLAG(struct listing, is_quiet, "-q", "print only the ids"),
        ASK_OPTIONS(struct listing, ask),
        OPTION_END,
};

const struct command command_ls = {
        .name = "ls",
        .help = "List the sandboxes of the daemon.",
        .options = options,
        .example = "carrel ls",
        .run = cmd_ls,
};
