/*
 * cli/ls.c - `carrel ls`: lists the sandboxes of the daemon.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

static void
print_rows(const struct carrel_sandboxes *all, struct table *t, FILE *out)
{
        static const char *const heads[] = { "ID", "NAME", "STATUS", "AGE", "LEFT", "WITH" };

        table_row(t, out, heads, 6);
        for (size_t i = 0; i < all->count; i++) {
                const struct carrel_sandbox *s = &all->items[i];
                char age[SPAN_TEXT], left[SPAN_TEXT];
                const char *cells[] = { s->id,
                                        s->name ? s->name : "-",
                                        s->status,
                                        span_text(span_since(s->created_at_ms), age),
                                        s->remaining_ms == CARREL_NONE
                                                ? "-"
                                                : span_text(s->remaining_ms, left),
                                        s->runtime    ? s->runtime
                                        : s->provider ? s->provider
                                                      : "-" };

                table_row(t, out, cells, 6);
        }
}

static int
print_json(const struct carrel_sandboxes *all)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "items");
        json_open_list(&w);
        for (size_t i = 0; i < all->count; i++)
                json_sandbox(&w, &all->items[i]);
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
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
        struct table t = { .widths = { 0 } };
        struct carrel_error failed;
        struct error e;
        int status;

        if (ask_read(a, &command_ls, argc, argv, &l, &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        if (carrel_list(a->c, &all, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        for (size_t i = 0; l.is_quiet && i < all->count; i++) {
                print_escaped(stdout, all->items[i].id, false);
                (void)fputc('\n', stdout);
        }
        if (a->is_json) {
                status = print_json(all);
        } else if (!l.is_quiet && all->count == 0) {
                (void)puts("There is no sandbox. `carrel create` makes one.");
        } else if (!l.is_quiet) {
                print_rows(all, &t, NULL);
                print_rows(all, &t, stdout);
        }
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
