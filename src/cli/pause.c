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
change(const struct command *c, int argc, char **argv, change_fn *call)
{
        struct ask a = { .state = NULL };
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        int status;

        if (ask_parse(&a, c, argc, argv, &a, &e) < 0)
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

static int
cmd_pause(int argc, char **argv)
{
        return change(&command_pause, argc, argv, carrel_pause);
}

static int
cmd_resume(int argc, char **argv)
{
        return change(&command_resume, argc, argv, carrel_resume);
}

const struct command command_pause = {
        .name = "pause",
        .help = "Pause every process of a sandbox; timers are not reset.",
        .options = ask_options,
        .operands = ask_sandbox,
        .needs = ASK_NEEDS,
        .example = "carrel pause demo",
        .run = cmd_pause,
};

const struct command command_resume = {
        .name = "resume",
        .help = "Resume a paused sandbox.",
        .options = ask_options,
        .operands = ask_sandbox,
        .needs = ASK_NEEDS,
        .example = "carrel resume demo",
        .run = cmd_resume,
};
