/*
 * cli/kill.c - `carrel kill`: ends the process tree of an exec, or sends it a signal.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); the rest is libcarrel's.
 */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/value.h"

static const struct { const char *name; int number; } signals[] = {
        { "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT }, { "KILL", SIGKILL }, { "TERM", SIGTERM }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
        { "STOP", SIGSTOP }, { "CONT", SIGCONT }, { "ALRM", SIGALRM }, { "WINCH", SIGWINCH }, { "PIPE", SIGPIPE }, { "ABRT", SIGABRT },
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
        if (value_number_read(VALUE_SIGNAL, (struct value_place){ "kill", "-s" }, text, &number, e) < 0)
                return -1;
        *ret = (int)number;
        return 0;
}

static int
print_answer(const struct ask *a, int ran)
{
        struct json_writer w;

        if (!a->is_json) {
                (void)puts(ran ? "killed, with every process it had started" : "it had ended already");
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "existed", ran != 0);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
cmd_kill(int argc, char **argv)
{
        struct ask a = { .state = NULL };
        const char *name = NULL;
        const struct option_row rows[] = { ASK_ROWS(&a), { "-s", &name, NULL } };
        struct carrel_error failed;
        struct error e;
        uint64_t exec;
        int status, result, signal = 0, ran = 1;

        if (ask_read(&a, argc, argv, rows, sizeof rows / sizeof *rows, 2, 2, "the id of a sandbox and the number of an exec", &e) < 0 ||
            value_number_read(VALUE_EXEC, (struct value_place){ "kill", NULL }, a.words[1], &exec, &e) < 0 || (name && signal_read(name, &signal, &e) < 0))
                return ask_wrong(&a, &e);
        status = ask_open(&a);
        if (status != 0)
                return status;
        result = signal > 0 ? carrel_signal(a.c, a.words[0], (uint32_t)exec, signal, &failed) : carrel_kill(a.c, a.words[0], (uint32_t)exec, &ran, &failed);
        if (result < 0)
                status = ask_failed(&a, NULL, &failed);
        else if (signal == 0)
                status = print_answer(&a, ran);
        return ask_close(&a, status);
}
