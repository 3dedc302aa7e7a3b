/*
 * cli/usage_command.c - `carrel usage`: what sandboxes of the daemon have used.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <inttypes.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

enum { MS_IN_S = 1000 };

/* A figure that is not measured is "-". */
static void
print_number(uint64_t value, int width)
{
        if (value == CARREL_NONE)
                (void)printf(" %*s", width, "-");
        else
                (void)printf(" %*" PRIu64, width, value);
}

static void
print_seconds(uint64_t ms)
{
        if (ms == CARREL_NONE)
                (void)printf(" %12s", "-");
        else
                (void)printf(" %8" PRIu64 ".%03" PRIu64, ms / MS_IN_S, ms % MS_IN_S);
}

static uint64_t
mib_seconds(uint64_t byte_seconds)
{
        return byte_seconds == CARREL_NONE ? CARREL_NONE : byte_seconds >> 20;
}

static void
print_row(const struct carrel_usage *u)
{
        (void)printf("%-17s", u->id ? u->id : "total");
        print_seconds(u->wall_ms);
        print_seconds(u->cpu_ms);
        print_number(u->memory_peak_kb, 11);
        print_number(mib_seconds(u->memory_byte_seconds), 10);
        print_number(mib_seconds(u->storage_byte_seconds), 10);
        print_number(u->execs, 6);
        print_number(u->output_bytes, 12);
        print_number(u->bytes_out, 12);
        print_number(u->bytes_in, 12);
        (void)fputs("  ", stdout);
        if (u->owner)
                print_escaped(stdout, u->owner, false);
        (void)fputc('\n', stdout);
}

static void
print_head(void)
{
        (void)printf("%-17s %12s %12s %11s %10s %10s %6s %12s %12s %12s  %s\n", "SANDBOX", "WALL s",
                     "CPU s", "MEMORY KiB", "MiB*s", "DISK MiB*s", "EXECS", "OUTPUT B", "SENT B",
                     "RECEIVED B", "OWNER");
}

static int
one(const struct ask *a, const char *id)
{
        struct carrel_usage *usage;
        struct carrel_error e;
        int status = 0;

        if (carrel_get_usage(a->c, id, &usage, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json) {
                status = ask_json(OP_USAGE, usage);
        } else {
                print_head();
                print_row(usage);
        }
        carrel_free(usage);
        return status;
}

static int
all(const struct ask *a)
{
        struct carrel_usages *usages;
        struct carrel_error e;
        int status = 0;

        if (carrel_list_usage(a->c, &usages, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json) {
                status = ask_json(OP_USAGE_LIST, usages);
        } else {
                print_head();
                for (size_t i = 0; i < usages->count; i++)
                        print_row(&usages->items[i]);
        }
        carrel_free(usages);
        return status;
}

static int
cmd_usage(int argc, char **argv)
{
        struct ask ask = { .c = NULL };
        struct error e;
        int status;

        if (ask_parse(&ask, &command_usage, argc, argv, &ask, &e) < 0)
                return ask_wrong(&ask, &e);
        status = ask_open(&ask);
        if (status != 0)
                return status;
        return ask_close(&ask, ask.word_count == 0 ? all(&ask) : one(&ask, ask.words[0]));
}

static const struct operand operands[] = { { "[SANDBOX]", VALUE_SANDBOX }, { NULL } };

const struct command command_usage = {
        .name = "usage",
        .help = "Show what sandboxes have used: time, CPU, memory, output, network.",
        .options = ask_options,
        .operands = operands,
        .example = "carrel usage demo",
        .run = cmd_usage,
};
