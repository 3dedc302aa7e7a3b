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

struct limiting {
        struct ask ask;
        struct option_list allowed;
        bool is_none;
};

static int
cmd_network(int argc, char **argv)
{
        static struct limiting l;
        struct ask *a = &l.ask;
        const char *hosts[HOSTS_MAX + OPTION_LIST_MAX], *id;
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        size_t count;
        int status;

        if (ask_parse(a, &command_network, argc, argv, &l, &e) < 0)
                return ask_wrong(a, &e);
        count = a->word_count;
        if (count == 0 || (count > 1 && l.allowed.count == 0) ||
            (l.allowed.count > 0) == l.is_none) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "%s",
                           count == 0   ? "network needs the id or name of a sandbox"
                           : count == 1 ? "network needs either --allow HOST... or --none"
                                        : "allowed hosts follow --allow");
                error_hint(&e, "For example: carrel network demo --allow api.example.com "
                               "github.com:22; or --none, to allow no host.");
                return ask_wrong(a, &e);
        }
        id = a->words[0];
        count = 0;
        for (size_t i = 1; i < a->word_count; i++)
                hosts[count++] = a->words[i];
        for (size_t i = 0; i < l.allowed.count; i++)
                hosts[count++] = l.allowed.items[i];
        status = ask_open(a);
        if (status != 0)
                return status;
        if (carrel_set_network(a->c, id, hosts, count, &s, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        status = print_sandbox(a, s);
        if (!a->is_json)
                print_reached(hosts, count);
        carrel_free(s);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_LIST(struct limiting, allowed, VALUE_HOST, "--allow", "HOST...",
                    "allowed hosts, as in network.egress"),
        OPTION_FLAG(struct limiting, is_none, "--none", "allow no host"),
        ASK_OPTIONS(struct limiting, ask),
        OPTION_END,
};

const struct command command_network = {
        .name = "network",
        .help = "Replace the list of hosts that a sandbox may reach.",
        .options = options,
        .operands = ask_sandbox,
        .words_max = 1 + HOSTS_MAX,
        .example = "carrel network demo --none",
        .run = cmd_network,
};
