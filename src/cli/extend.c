/*
 * cli/extend.c - `carrel extend`: adds to the time that a sandbox has left.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/value.h"

struct extending {
        struct ask ask;
        const char *key;
};

static int
cmd_extend(int argc, char **argv)
{
        struct extending x = { .key = NULL };
        struct ask *a = &x.ask;
        struct carrel_error failed;
        struct carrel_sandbox *s;
        struct error e;
        uint64_t ms;
        int status;

        if (ask_parse(a, &command_extend, argc, argv, &x, &e) < 0 ||
            value_duration_read((struct value_place){ "extend", NULL }, a->words[1], &ms, &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        if (carrel_extend_timeout(a->c, a->words[0], ms, x.key, &s, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        status = print_sandbox(a, s);
        if (s->remaining_ms == CARREL_NONE)
                (void)fprintf(stderr, "carrel: the sandbox %s has no end, so nothing was added\n",
                              s->id);
        carrel_free(s);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_TEXT(struct extending, key, VALUE_TEXT, "--key", "K",
                    "idempotency key: repeating the call adds nothing"),
        ASK_OPTIONS(struct extending, ask),
        OPTION_END,
};

static const struct operand operands[] = {
        { "ID", VALUE_SANDBOX },
        { "T", VALUE_DURATION, "time to add: 30s, 10m, 2h" },
        { NULL },
};

const struct command command_extend = {
        .name = "extend",
        .help = "Add to the time a sandbox has left.",
        .options = options,
        .operands = operands,
        .needs = "the id of a sandbox and how long: 10m",
        .example = "carrel extend demo 10m",
        .run = cmd_extend,
};
