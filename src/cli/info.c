/*
 * cli/info.c - `carrel info`: shows one sandbox, or the daemon itself.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <inttypes.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/left.h"

static int
daemon_info(const struct ask *a)
{
        struct carrel_info *info;
        struct carrel_error e;
        int status = 0;

        if (carrel_info(a->c, &info, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json) {
                status = ask_json(OP_INFO, info);
        } else {
                (void)printf("version    ");
                print_escaped(stdout, info->version, false);
                (void)printf("\nstate      ");
                print_escaped(stdout, carrel_state(a->c), false);
                (void)printf("\nsandboxes  %" PRIu64 "\npool       %" PRIu64 "\nruntimes  ",
                             info->sandboxes, info->pool);
                for (size_t i = 0; i < info->runtime_count; i++) {
                        (void)fputc(' ', stdout);
                        print_escaped(stdout, info->runtimes[i], false);
                }
                (void)fputs(info->runtime_count == 0 ? " none\n" : "\n", stdout);
        }
        carrel_free(info);
        return status;
}

static int
sandbox_info(const struct ask *a, const char *id)
{
        struct carrel_sandbox *s;
        struct carrel_error e;
        int status;

        if (carrel_get(a->c, id, &s, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (!s)
                return ask_no_sandbox(a, id);
        status = print_sandbox(a, s);
        print_sandbox_warnings(a, s);
        if (!a->is_json)
                left_print_all(&s->left, id, false);
        carrel_free(s);
        return status;
}

static int
instructions(const struct ask *a, const char *id)
{
        struct carrel_error e;
        struct json_writer w;
        char *text;
        int status = 0;

        if (carrel_instructions(a->c, id, &text, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json) {
                json_init(&w, true);
                json_open_map(&w);
                json_member_text(&w, "text", text);
                json_close_map(&w);
                status = json_print(&w, stdout);
        } else {
                print_escaped(stdout, text, true);
        }
        carrel_free(text);
        return status;
}

struct asked {
        struct ask ask;
        bool wants_words;
};

static int
cmd_info(int argc, char **argv)
{
        struct asked asked = { .wants_words = false };
        struct ask *a = &asked.ask;
        struct error e;
        int status, result;

        result = ask_parse(a, &command_info, argc, argv, &asked, &e);
        if (result == 0 && asked.wants_words && a->word_count == 0)
                result = fail(&e, ERROR_INVALID_ARGUMENT,
                              "--instructions are those of one sandbox: name it");
        if (result < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        status = a->word_count == 0  ? daemon_info(a)
                 : asked.wants_words ? instructions(a, a->words[0])
                                     : sandbox_info(a, a->words[0]);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_FLAG(struct asked, wants_words, "--instructions",
                    "print a description of the sandbox for a language model"),
        ASK_OPTIONS(struct asked, ask),
        OPTION_END,
};

static const struct operand operands[] = { { "[ID]", VALUE_SANDBOX }, { NULL } };

const struct command command_info = {
        .name = "info",
        .help = "Show one sandbox, or the daemon itself.",
        .options = options,
        .operands = operands,
        .example = "carrel info demo",
        .run = cmd_info,
};
