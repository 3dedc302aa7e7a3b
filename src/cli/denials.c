/*
 * cli/denials.c - `carrel denials`: the connections of a sandbox that were refused.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <inttypes.h>

#include "base/numbers.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

static void
print_lines(const struct carrel_denials *all)
{
        char age[SPAN_TEXT];

        if (all->count == 0)
                (void)puts("Nothing was refused.");
        for (size_t i = 0; i < all->count; i++) {
                const struct carrel_denial *d = &all->items[i];

                (void)printf("%s ago",
                             d->at_ms != 0 ? span_text(span_since(d->at_ms), age) : "some time");
                if (d->exec != 0)
                        (void)printf(", exec %" PRIu32, d->exec);
                if (d->count > 1)
                        (void)printf(", %" PRIu32 " times", d->count);
                (void)fputs(": ", stdout);
                print_escaped(stdout, d->message, false);
                (void)fputc('\n', stdout);
        }
        if (all->more > 0)
                (void)printf("%" PRIu64 " more requests were refused, between the first %d and the "
                             "last %d that are kept.\n",
                             all->more, NUMBER_REFUSALS_FIRST, NUMBER_REFUSALS_LAST);
}

static int
cmd_denials(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        struct carrel_error failed;
        struct carrel_denials *all;
        struct error e;
        int status = 0;

        if (ask_parse(&a, &command_denials, argc, argv, &a, &e) < 0)
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_list_denials(a.c, a.words[0], &all, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        if (a.is_json)
                status = ask_json(OP_DENIALS, all);
        else
                print_lines(all);
        carrel_free(all);
        return ask_close(&a, status);
}

const struct command command_denials = {
        .name = "denials",
        .help = "Show the refused network requests of a sandbox.",
        .options = ask_options,
        .operands = ask_sandbox,
        .needs = ASK_NEEDS,
        .example = "carrel denials demo",
        .run = cmd_denials,
};
