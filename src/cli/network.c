/*
 * cli/network.c - `carrel network`: replaces the list of destinations of a sandbox.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

enum { HOSTS_MAX = 1024 };

/* Without any destination nothing can be reached: the output must show that. */
static void
print_reached(const char *const *hosts, size_t count)
{
        (void)printf("%-10s%s", "reaches", count == 0 ? " nothing" : "");
        for (size_t i = 0; i < count; i++) {
                (void)fputc(' ', stdout);
                print_escaped(stdout, hosts[i], false);
        }
        (void)fputc('\n', stdout);
}

int
cmd_network(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        static struct option_list allowed;
        bool is_none = false;
        const struct option_row rows[] = { ASK_ROWS(&a),
                                           { "--allow", NULL, NULL, &allowed },
                                           { "--none", NULL, &is_none, NULL } };
        const char *words[1 + HOSTS_MAX + OPTION_LIST_MAX], *id; /* the id, then hosts */
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        size_t count;
        int status;

        if (options_read(argc, argv, rows, sizeof rows / sizeof *rows, words, 1 + HOSTS_MAX, &count,
                         &e) < 0)
                return ask_wrong(&a, &e);
        if (count == 0 || (count > 1 && allowed.count == 0) || (allowed.count > 0) == is_none) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "%s",
                           count == 0   ? "network needs the id or name of a sandbox"
                           : count == 1 ? "network needs either --allow HOST... or --none"
                                        : "allowed hosts follow --allow");
                error_hint(&e, "For example: carrel network demo --allow api.example.com "
                               "github.com:22; or --none, to allow no host.");
                return ask_wrong(&a, &e);
        }
        id = words[0];
        for (size_t i = 0; i < allowed.count; i++)
                words[count++] = allowed.items[i];
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_set_network(a.c, id, words + 1, count - 1, &s, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        status = print_sandbox(&a, s);
        if (!a.is_json)
                print_reached(words + 1, count - 1);
        carrel_free(s);
        return ask_close(&a, status);
}
