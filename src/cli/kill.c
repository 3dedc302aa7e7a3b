/*
 * cli/kill.c - `carrel kill`: ends the process tree of an exec, or sends it a signal.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), clock; libcarrel does the rest.
 */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/value.h"
#include "clock/clock.h"

enum { END_WAIT_MS = 10000 };

static const struct {
        const char *name;
        int number;
} signals[] = {
        { "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT },   { "KILL", SIGKILL },
        { "TERM", SIGTERM }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },   { "STOP", SIGSTOP },
        { "CONT", SIGCONT }, { "ALRM", SIGALRM }, { "WINCH", SIGWINCH }, { "PIPE", SIGPIPE },
        { "ABRT", SIGABRT },
};

static int
signal_read(const char *text, int *ret, struct error *e)
{
        const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
        uint64_t number;

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                if (strcasecmp(name, signals[i].name) == 0) {
                        *ret = signals[i].number;
                        return 0;
                }
        if (value_number_read(VALUE_SIGNAL, (struct value_place){ "kill", "-s" }, text, &number,
                              e) < 0)
                return -1;
        *ret = (int)number;
        return 0;
}

static int
print_answer(const struct ask *a, int ran, bool is_late)
{
        if (a->is_json)
                return ask_json_existed(ran);
        (void)puts(!ran      ? "it had ended already"
                   : is_late ? "SIGKILL was sent to all its processes, and some have not ended yet"
                             : "killed, with every process it had started");
        return 0;
}

/* The exec's stream if it still runs; NULL: there is nothing to wait for. */
static struct carrel_exec *
watch(const struct ask *a, uint32_t exec)
{
        struct carrel_exec_info *info = NULL;
        struct carrel_exec *x = NULL;
        struct carrel_error ignored;

        if (carrel_exec_get(a->c, a->words[0], exec, &info, &ignored) < 0 || !info)
                return NULL;
        if (!info->has_end && carrel_attach(a->c, a->words[0], exec, info->end.stdout_bytes,
                                            info->end.stderr_bytes, 0, &x, &ignored) < 0)
                x = NULL;
        carrel_free(info);
        return x;
}

/*
 * Waits until the end is reported, so that `carrel ps` and later commands see it. Remaining output
 * is left for `carrel output`.
 */
static bool
wait_for_end(struct carrel_exec *x)
{
        uint64_t until = clock_boot_ms() + END_WAIT_MS, now;
        struct carrel_error ignored;
        struct carrel_piece p;

        while ((now = clock_boot_ms()) < until &&
               carrel_exec_read(x, (int)(until - now), &p, &ignored) > 0)
                if (p.kind == CARREL_END)
                        return true;
        return false;
}

static int
kill_exec(const struct ask *a, uint32_t exec)
{
        struct carrel_exec *x = watch(a, exec);
        struct carrel_error failed;
        int ran = 0, status;

        if (carrel_kill(a->c, a->words[0], exec, &ran, &failed) < 0) {
                status = ask_failed(a, NULL, &failed);
        } else {
                bool is_late = ran && x && !wait_for_end(x);

                status = print_answer(a, ran, is_late);
        }
        if (x)
                (void)carrel_exec_detach(x, NULL);
        return status;
}

static int
signal_exec(const struct ask *a, uint32_t exec, int signal)
{
        struct carrel_error failed;

        return carrel_signal(a->c, a->words[0], exec, signal, &failed) < 0
                       ? ask_failed(a, NULL, &failed)
                       : 0;
}

struct killing {
        struct ask ask;
        const char *signal;
};

static int
cmd_kill(int argc, char **argv)
{
        struct killing k = { .signal = NULL };
        struct ask *a = &k.ask;
        struct error e;
        uint64_t exec;
        int status, signal = 0;

        if (ask_parse(a, &command_kill, argc, argv, &k, &e) < 0 ||
            value_number_read(VALUE_EXEC, (struct value_place){ "kill", NULL }, a->words[1], &exec,
                              &e) < 0 ||
            (k.signal && signal_read(k.signal, &signal, &e) < 0))
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        return ask_close(a, signal > 0 ? signal_exec(a, (uint32_t)exec, signal)
                                       : kill_exec(a, (uint32_t)exec));
}

static const struct option options[] = {
        OPTION_TEXT(struct killing, signal, VALUE_SIGNAL, "-s", "SIGNAL",
                    "send only this signal, to its process group: TERM, INT, 15"),
        ASK_OPTIONS(struct killing, ask),
        OPTION_END,
};

const struct command command_kill = {
        .name = "kill",
        .help = "Kill the whole process tree of an exec, or send it a signal.",
        .options = options,
        .operands = ask_exec,
        .needs = ASK_NEEDS_EXEC,
        .example = "carrel kill demo 1",
        .run = cmd_kill,
};
