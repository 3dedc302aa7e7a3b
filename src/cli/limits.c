/*
 * cli/limits.c - `carrel limits`: prints or changes the limits of a sandbox.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/size_text.h"

struct limiting {
        struct ask ask;
        struct carrel_limits wanted;
};

enum unit { UNIT_NONE, UNIT_MIB, UNIT_BYTES, UNIT_MS };

static bool
is_enforced(const struct carrel_limits *l, const char *name)
{
        for (size_t i = 0; i < l->not_enforced_count; i++)
                if (strcmp(l->not_enforced[i], name) == 0)
                        return false;
        return true;
}

static const char *
value_text(uint64_t value, enum unit unit, char room[SPAN_TEXT + SIZE_TEXT])
{
        if (value == CARREL_NONE)
                return "none";
        if (unit == UNIT_MIB && value < UINT64_MAX >> 20)
                return size_text(value << 20, room);
        if (unit == UNIT_BYTES)
                return size_text(value, room);
        if (unit == UNIT_MS)
                return span_text(value, room);
        (void)snprintf(room, SPAN_TEXT + SIZE_TEXT, "%" PRIu64, value);
        return room;
}

static void
print_limits(const struct carrel_limits *l)
{
        const struct {
                const char *name;
                uint64_t most, used;
                enum unit unit, used_unit;
        } rows[] = {
                { "memory_mb", l->memory_mb, l->memory_used_bytes, UNIT_MIB, UNIT_BYTES },
                { "cpu_millicores", l->cpu_millicores, l->cpu_ms, UNIT_NONE, UNIT_MS },
                { "pids", l->pids, l->pids_used, UNIT_NONE, UNIT_NONE },
                { "io_read_bps", l->io_read_bps, CARREL_NONE, UNIT_BYTES, UNIT_NONE },
                { "io_write_bps", l->io_write_bps, CARREL_NONE, UNIT_BYTES, UNIT_NONE },
                { "timeout_ms", l->timeout_ms, CARREL_NONE, UNIT_MS, UNIT_NONE },
                { "output_bytes", l->output_bytes, CARREL_NONE, UNIT_BYTES, UNIT_NONE },
                { "open_files", l->open_files, CARREL_NONE, UNIT_NONE, UNIT_NONE },
                { "disk_mb", l->disk_mb, CARREL_NONE, UNIT_MIB, UNIT_NONE },
        };
        char most[SPAN_TEXT + SIZE_TEXT], used[SPAN_TEXT + SIZE_TEXT];

        (void)printf("%-16s %12s %12s\n", "LIMIT", "AT MOST", "USED");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                (void)printf("%-16s %12s %12s%s\n", rows[i].name,
                             value_text(rows[i].most, rows[i].unit, most),
                             rows[i].used == CARREL_NONE
                                     ? "-"
                                     : value_text(rows[i].used, rows[i].used_unit, used),
                             is_enforced(l, rows[i].name) ? "" : "  not enforced on this host");
}

static bool
is_empty(const struct carrel_limits *w)
{
        return (w->memory_mb | w->cpu_millicores | w->pids | w->io_read_bps | w->io_write_bps |
                w->timeout_ms | w->output_bytes) == 0;
}

static int
cmd_limits(int argc, char **argv)
{
        static struct limiting l;
        struct ask *a = &l.ask;
        struct carrel_error failed;
        struct carrel_limits *got;
        struct error e;
        int status, result;

        if (ask_parse(a, &command_limits, argc, argv, &l, &e) < 0)
                return ask_wrong(a, &e);
        if (a->word_count != 1) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "limits needs " ASK_NEEDS);
                error_hint(&e, "For example: carrel limits demo --memory 2g");
                return ask_wrong(a, &e);
        }
        status = ask_open(a);
        if (status != 0)
                return status;
        result = is_empty(&l.wanted)
                         ? carrel_get_limits(a->c, a->words[0], &got, &failed)
                         : carrel_set_limits(a->c, a->words[0], &l.wanted, &got, &failed);
        if (result < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        if (a->is_json)
                status = ask_json(is_empty(&l.wanted) ? OP_LIMITS : OP_LIMITS_SET, got);
        else
                print_limits(got);
        carrel_free(got);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_NUMBER(struct limiting, wanted.memory_mb, VALUE_SIZE, "--memory", "SIZE",
                      "memory of the whole sandbox (limits.memory_mb): 512m, 2g; not less than is "
                      "in use"),
        OPTION_NUMBER(struct limiting, wanted.cpu_millicores, VALUE_CPU, "--cpu", "N",
                      "share of the processors (limits.cpu_millicores): 2, 0.5 or 500m"),
        OPTION_NUMBER(struct limiting, wanted.pids, VALUE_TASKS, "--pids", "N",
                      "processes and threads at once (limits.pids)"),
        OPTION_NUMBER(struct limiting, wanted.io_read_bps, VALUE_CAP_BYTES, "--io-read", "BYTES",
                      "bytes read per second, each block device (limits.io_read_bps)"),
        OPTION_NUMBER(struct limiting, wanted.io_write_bps, VALUE_CAP_BYTES, "--io-write", "BYTES",
                      "bytes written per second, each block device (limits.io_write_bps)"),
        OPTION_NUMBER(struct limiting, wanted.timeout_ms, VALUE_DURATION, "--timeout", "T",
                      "time limit of later commands (limits.timeout_ms): 30s, 5m"),
        OPTION_NUMBER(struct limiting, wanted.output_bytes, VALUE_CAP_BYTES, "--output-bytes",
                      "BYTES", "output of each later command (limits.output_bytes)"),
        ASK_OPTIONS(struct limiting, ask),
        OPTION_END,
};

const struct command command_limits = {
        .name = "limits",
        .help = "Print the limits of a sandbox and what is used of them, or change them.",
        .options = options,
        .operands = ask_sandbox,
        .example = "carrel limits demo --memory 2g --pids 500",
        .run = cmd_limits,
};
