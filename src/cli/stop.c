/*
 * cli/stop.c - `carrel stop`: ends a sandbox and everything in it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

enum { STOP_MAX = 256 };

static int
print_answer(const struct ask *a, const char *id, int existed)
{
        struct json_writer w;

        if (!a->is_json) {
                print_escaped(stdout, id, false);
                (void)puts(existed ? ": stopped" : ": no such sandbox");
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "id", id);
        json_member_bool(&w, "existed", existed != 0);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
cmd_stop(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        const struct option_row rows[] = { ASK_ROWS(&a) };
        const char *ids[STOP_MAX];
        struct error e;
        size_t count;
        int status, existed;

        if (options_read(argc, argv, rows, sizeof rows / sizeof *rows, ids, STOP_MAX, &count, &e) <
            0)
                return ask_wrong(&a, &e);
        if (count == 0) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "stop needs the id or name of a sandbox");
                error_hint(&e, "`carrel ls` lists them.");
                return ask_wrong(&a, &e);
        }
        status = ask_open(&a);
        for (size_t i = 0; i < count && status == 0; i++) {
                struct carrel_error failed;

                status = carrel_stop(a.c, ids[i], &existed, &failed) < 0
                                 ? ask_failed(&a, NULL, &failed)
                                 : print_answer(&a, ids[i], existed);
        }
        return ask_close(&a, status);
}
