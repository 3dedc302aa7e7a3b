/*
 * cli/network.c - `carrel network`: another list of what a sandbox may reach.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); the rest is libcarrel's.
 */
#include "cli/ask.h"
#include "cli/commands.h"

enum { HOSTS_MAX = 1024 };

int
cmd_network(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        const char *first = NULL;
        const struct option_row rows[] = { ASK_ROWS(&a), { "--allow", &first, NULL } };
        const char *words[HOSTS_MAX + 1], *id;         /* the id, then hosts */
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        size_t count;
        int status;

        if (options_read(argc, argv, rows, sizeof rows / sizeof *rows, words, HOSTS_MAX, &count, &e) < 0)
                return ask_wrong(&a, &e);
        if (count == 0 || (count > 1 && !first)) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, count == 0 ? "network needs the id or name of a sandbox" : "what a sandbox may reach stands after --allow");
                error_hint(&e, "For example: carrel network demo --allow api.example.com github.com:22");
                return ask_wrong(&a, &e);
        }
        id = words[0];
        words[0] = first;              /* the hosts are together now */
        count -= first ? 0 : 1;
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_set_network(a.c, id, words, count, &s, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        status = print_sandbox(&a, s);
        carrel_free(s);
        return ask_close(&a, status);
}
