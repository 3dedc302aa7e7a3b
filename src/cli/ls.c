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

int
cmd_ls(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        bool is_quiet = false;
        const struct option_row rows[] = { ASK_ROWS(&a), { "-q", NULL, &is_quiet } };
        struct carrel_sandboxes *all;
        struct table t = { .widths = { 0 } };
        struct carrel_error failed;
        struct error e;
        int status;

        if (ask_read(&a, argc, argv, rows, sizeof rows / sizeof *rows, 0, 0, "", &e) < 0)
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_list(a.c, &all, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        for (size_t i = 0; is_quiet && i < all->count; i++) {
                print_escaped(stdout, all->items[i].id, false);
                (void)fputc('\n', stdout);
        }
        if (a.is_json) {
                status = print_json(all);
        } else if (!is_quiet && all->count == 0) {
                (void)puts("There is no sandbox. `carrel create` makes one.");
        } else if (!is_quiet) {
                print_rows(all, &t, NULL);
                print_rows(all, &t, stdout);
        }
        carrel_free(all);
        return ask_close(&a, status);
}
