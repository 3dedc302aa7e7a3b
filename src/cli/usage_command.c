/*
 * cli/usage_command.c - `carrel usage`: what sandboxes of the daemon have used.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

enum { MS_IN_S = 1000, TEXT = 16 };

static const struct column {
        const char *name;
        int width; /* with the space before it; the sum is 80 */
} columns[] = { { "SANDBOX", 16 }, { "WALL s", 9 }, { "CPU s", 8 },  { "PEAK", 6 }, { "MiB*s", 8 },
                { "DISK*s", 8 },   { "EXECS", 6 },  { "OUTPUT", 7 }, { "SENT", 6 }, { "RECV", 6 } };

/* "999", "1.5k" or "120G": at most four characters, five below 1024 of a unit. */
static const char *
short_number(uint64_t value, unsigned step, char out[TEXT])
{
        static const char units[] = " KMGTPE";
        uint64_t rest = 0;
        size_t unit = 0;

        for (; value >= step; unit++) {
                rest = value % step * 10 / step;
                value /= step;
        }
        if (unit == 0)
                (void)snprintf(out, TEXT, "%" PRIu64, value);
        else if (value < 10)
                (void)snprintf(out, TEXT, "%" PRIu64 ".%" PRIu64 "%c", value, rest, units[unit]);
        else
                (void)snprintf(out, TEXT, "%" PRIu64 "%c", value, units[unit]);
        return out;
}

/* A figure that is not measured is "-". */
static void
print_bytes(int column, uint64_t bytes)
{
        char text[TEXT];

        (void)printf("%*s", columns[column].width,
                     bytes == CARREL_NONE ? "-" : short_number(bytes, 1024, text));
}

/* As it is while it fits, else in thousands. */
static void
print_number(int column, uint64_t value)
{
        char text[TEXT], whole[24];
        int len = snprintf(whole, sizeof whole, "%" PRIu64, value);

        (void)printf("%*s", columns[column].width,
                     value == CARREL_NONE          ? "-"
                     : len < columns[column].width ? whole
                                                   : short_number(value, 1000, text));
}

static void
print_seconds(int column, uint64_t ms)
{
        int width = columns[column].width;

        if (ms == CARREL_NONE)
                (void)printf("%*s", width, "-");
        else if (ms < 1000 * MS_IN_S)
                (void)printf("%*" PRIu64 ".%03" PRIu64, width - 4, ms / MS_IN_S, ms % MS_IN_S);
        else
                print_number(column, ms / MS_IN_S);
}

static uint64_t
mib_seconds(uint64_t byte_seconds)
{
        return byte_seconds == CARREL_NONE ? CARREL_NONE : byte_seconds >> 20;
}

static uint64_t
bytes_of_kb(uint64_t kb)
{
        return kb == CARREL_NONE ? CARREL_NONE : kb << 10;
}

/* A sum is under the name of its owner. */
static void
print_who(const struct carrel_usage *u)
{
        int len = 0;

        if (u->id) {
                len = printf("%s", u->id);
        } else {
                (void)fputs("total ", stdout);
                if (u->owner)
                        print_escaped(stdout, u->owner, false);
                len = 6 + (u->owner ? (int)strlen(u->owner) : 0);
        }
        (void)printf("%*s", len < columns[0].width ? columns[0].width - len : 0, "");
}

static void
print_row(const struct carrel_usage *u)
{
        print_who(u);
        print_seconds(1, u->wall_ms);
        print_seconds(2, u->cpu_ms);
        print_bytes(3, bytes_of_kb(u->memory_peak_kb));
        print_number(4, mib_seconds(u->memory_byte_seconds));
        print_number(5, mib_seconds(u->storage_byte_seconds));
        print_number(6, u->execs);
        print_bytes(7, u->output_bytes);
        print_bytes(8, u->bytes_out);
        print_bytes(9, u->bytes_in);
        (void)fputc('\n', stdout);
}

static void
print_head(void)
{
        (void)printf("%-*s", columns[0].width, columns[0].name);
        for (size_t i = 1; i < sizeof columns / sizeof *columns; i++)
                (void)printf("%*s", columns[i].width, columns[i].name);
        (void)fputc('\n', stdout);
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
        bool has_sandbox = false;
        int status = 0;

        if (carrel_list_usage(a->c, &usages, &e) < 0)
                return ask_failed(a, NULL, &e);
        if (a->is_json) {
                status = ask_json(OP_USAGE_LIST, usages);
        } else {
                print_head();
                for (size_t i = 0; i < usages->count; i++) {
                        print_row(&usages->items[i]);
                        has_sandbox |= usages->items[i].id != NULL;
                }
                if (has_sandbox)
                        (void)puts("Of a running sandbox: up to a minute old. `carrel usage ID` "
                                   "measures it now.");
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
        .notes = "PEAK: memory of one command. MiB*s, DISK*s: MiB of memory and disk, times "
                 "seconds.\nK, M, G: 1024 bytes and so on; of other numbers 1000. --json has exact "
                 "figures.",
        .example = "carrel usage demo",
        .run = cmd_usage,
};
