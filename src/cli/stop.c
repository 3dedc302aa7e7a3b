/*
 * cli/stop.c - `carrel stop`: ends a sandbox and everything in it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/left.h"
#include "client/record.h"
#include "codec/codec.h"

enum { STOP_MAX = 256 };

static int
print_answer(const struct ask *a, const char *id, int existed, const struct carrel_lefts *left)
{
        struct record r = client_record(left);
        struct json_writer w;

        if (!a->is_json) {
                print_escaped(stdout, id, false);
                (void)puts(existed ? ": stopped" : ": no such sandbox");
                left_print_all(left, id, true);
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "id", id);
        codec_write(&w, operation(OP_STOP), &r, 0);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
stop(const struct ask *a, const char *id)
{
        struct carrel_lefts *left;
        struct carrel_error e;
        int status, existed;

        if (carrel_stop_and_list(a->c, id, &existed, &left, &e) < 0)
                return ask_failed(a, NULL, &e);
        status = print_answer(a, id, existed, left);
        carrel_free(left);
        return status;
}

static int
cmd_stop(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        struct error e;
        int status;

        if (ask_parse(&a, &command_stop, argc, argv, &a, &e) < 0)
                return ask_wrong(&a, &e);
        if (a.word_count == 0) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "stop needs the id or name of a sandbox");
                error_hint(&e, "`carrel ls` lists them.");
                return ask_wrong(&a, &e);
        }
        status = ask_open(&a);
        for (size_t i = 0; i < a.word_count && status == 0; i++)
                status = stop(&a, a.words[i]);
        return ask_close(&a, status);
}

static const struct option options[] = {
        STATE_OPTION(struct ask, state),
        OPTION_FLAG(struct ask, is_json, "--json", "one JSON object for each ID"),
        OPTION_END,
};

static const struct operand operands[] = { { "ID...", VALUE_SANDBOX }, { NULL } };

const struct command command_stop = {
        .name = "stop",
        .help = "Stop and delete sandboxes, with all their processes and private files.",
        .options = options,
        .operands = operands,
        .words_max = STOP_MAX,
        .example = "carrel stop demo",
        .run = cmd_stop,
};
