/*
 * outcome/time_limit.c - how long one command may run, who set that limit, and where it can be
 * raised.
 *
 * Room: outcome (deciding, pure). Touches: nothing.
 * Knows who can set a limit, and where. Knows nothing of clocks and processes.
 */
#include "outcome/time_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
        const char *name, *field, *raise;
} rows[TIME_LIMIT_MAX] = {
        [TIME_LIMIT_NONE] = { NULL, "a limit on time",
                              "Give it more time with --timeout (timeout_ms in a call), or raise "
                              "limits.timeout_ms in SANDBOX.md." },
        [TIME_LIMIT_DEFAULT] = { "default", "the default of `carrel run`",
                                 "Give it more time with --timeout, for example --timeout 2h, or "
                                 "write limits.timeout_ms into SANDBOX.md." },
        [TIME_LIMIT_MANIFEST] = { "manifest", "limits.timeout_ms",
                                  "Raise limits.timeout_ms in SANDBOX.md." },
        [TIME_LIMIT_HOST] = { "host", "limits_max.timeout_ms of the host file",
                              "Ask the operator to raise limits_max.timeout_ms in the host file." },
        [TIME_LIMIT_CALL] = { "call", "--timeout, or timeout_ms of the call",
                              "Give it more time with --timeout (timeout_ms in a call), or none." },
};

const char *
time_limit_name(enum time_limit_by by)
{
        return rows[by].name;
}

enum time_limit_by
time_limit_find(const char *name)
{
        for (int by = TIME_LIMIT_DEFAULT; name && by < TIME_LIMIT_MAX; by++)
                if (strcmp(rows[by].name, name) == 0)
                        return (enum time_limit_by)by;
        return TIME_LIMIT_NONE;
}

const char *
time_limit_text(uint64_t ms, char *out)
{
        static const struct {
                uint64_t ms;
                const char *name;
        } units[] = { { 3600000, "h" }, { 60000, "min" }, { 1000, "s" }, { 1, "ms" } };
        size_t i = 0;

        while (ms % units[i].ms != 0 || ms < units[i].ms)
                if (++i == sizeof units / sizeof *units - 1)
                        break;
        (void)snprintf(out, TIME_LIMIT_TEXT, "%" PRIu64 " %s", ms / units[i].ms, units[i].name);
        return out;
}

void
time_limit_passed(const struct time_limit *l, struct error *e)
{
        char value[TIME_LIMIT_TEXT];

        if (l->ms == TIME_LIMIT_NEVER || l->by == TIME_LIMIT_NONE)
                (void)fail(e, ERROR_TIMEOUT, "timed out; all its processes were killed");
        else
                (void)fail(e, ERROR_TIMEOUT,
                           "timed out after %s (%s); all its processes were killed",
                           time_limit_text(l->ms, value), rows[l->by].field);
        error_hint(e, "%s", rows[l->by].raise);
}
