/*
 * cli/extend.c - `carrel extend`: adds to the time that a sandbox has left.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/value.h"

int
cmd_extend(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        const char *key = NULL;
        const struct option_row rows[] = { ASK_ROWS(&a), { "--key", &key, NULL } };
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        uint64_t ms;
        int status;

        if (ask_read(&a, argc, argv, rows, sizeof rows / sizeof *rows, 2, 2,
                     "the id of a sandbox and how long: 10m", &e) < 0 ||
            value_duration_read((struct value_place){ "extend", NULL }, a.words[1], &ms, &e) < 0)
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (carrel_extend_timeout(a.c, a.words[0], ms, key, &s, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        status = print_sandbox(&a, s);
        if (s->remaining_ms == CARREL_NONE)
                (void)fprintf(stderr, "carrel: the sandbox %s has no end, so nothing was added\n",
                              s->id);
        carrel_free(s);
        return ask_close(&a, status);
}
