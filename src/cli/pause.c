/*
 * cli/pause.c - `carrel pause` and `carrel resume`: freezes a sandbox, and thaws it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"

typedef int change_fn(struct carrel *c, const char *id, struct carrel_sandbox **ret,
                      struct carrel_error *e);

static int
change(int argc, char **argv, change_fn *call)
{
        struct ask a = { .state = NULL };
        const struct option_row rows[] = { ASK_ROWS(&a) };
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        int status;

        if (ask_read(&a, argc, argv, rows, sizeof rows / sizeof *rows, 1, 1,
                     "the id or name of a sandbox", &e) < 0)
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        if (call(a.c, a.words[0], &s, &failed) < 0)
                return ask_close(&a, ask_failed(&a, NULL, &failed));
        status = print_sandbox(&a, s);
        carrel_free(s);
        return ask_close(&a, status);
}

int
cmd_pause(int argc, char **argv)
{
        return change(argc, argv, carrel_pause);
}

int
cmd_resume(int argc, char **argv)
{
        return change(argc, argv, carrel_resume);
}
