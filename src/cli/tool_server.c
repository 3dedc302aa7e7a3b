/*
 * cli/tool_server.c - `carrel tool-server`: an MCP server in a sandbox of its own.
 *
 *     SANDBOX.md --checked--> metadata.carrel.tool_servers.NAME --> its block --> `carrel run`
 *
 * Room: cli (joining, program). Touches: what `carrel run` touches; a process that waits for the
 * end of standard input.
 * Theory: the server has the client's standard streams, and the permissions of its own block alone.
 * The block is in SANDBOX.md, which no command can change. A server that ignores the end of its
 * input would outlive its client, so a process of its own watches for the client's end.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/run.h"

enum { GRACE_S = 5 };

/* Ends carrel a moment after the client closed its end of standard input. */
static _Noreturn void
watch(pid_t carrel)
{
        const struct timespec grace = { .tv_sec = GRACE_S };
        struct pollfd end = { .fd = STDIN_FILENO };

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != carrel)
                _exit(0);
        (void)close(STDOUT_FILENO);
        (void)close(STDERR_FILENO);
        while (poll(&end, 1, -1) < 0 && errno == EINTR)
                ;
        if ((end.revents & (POLLHUP | POLLERR)) != 0) {
                (void)nanosleep(&grace, NULL);
                (void)kill(carrel, SIGTERM);
        }
        _exit(0);
}

static int
start_watch(struct error *e)
{
        pid_t carrel = getpid(), pid = fork();

        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno,
                                "starting a process that waits for the client");
        if (pid == 0)
                watch(carrel);
        return 0;
}

static int
cmd_tool_server(int argc, char **argv)
{
        static struct prepare_options o;
        struct words words;
        struct error e;

        if (options_read(&command_tool_server, argc, argv, &o, &words, &e) < 0)
                return print_failure(NULL, &e, o.is_json);
        o.tool_server = words.items[0];
        o.is_raw = true;
        o.command = words.rest;
        o.command_count = words.rest_count;
        if (start_watch(&e) < 0)
                return print_failure(NULL, &e, o.is_json);
        return run_command(&o, argc, argv);
}

static const struct option options[] = {
        FIND_OPTIONS,
        OPTION_FLAG(struct prepare_options, audits, "--audit",
                    "record start and end in your audit log; without a record, nothing is started"),
        OPTION_FLAG(struct prepare_options, is_json, "--json",
                    "with a COMMAND: one JSON object with output, outcome and warnings"),
        OPTION_END,
};

static const struct operand operands[] = {
        { "NAME", VALUE_TEXT, "a server of metadata.carrel.tool_servers" },
        { NULL },
};

const struct command command_tool_server = {
        .name = "tool-server",
        .help = "Run an MCP server of the manifest in a sandbox with its own permissions.",
        .options = options,
        .operands = operands,
        .needs = "the NAME of a tool server",
        .rest = "[-- COMMAND]",
        .notes = "A client starts it as its server: {\"command\": \"carrel\", \"args\": "
                 "[\"tool-server\", \"files\", \"-w\", \"/home/me/project\"]}.\nCOMMAND runs "
                 "instead of the server, to try its permissions. There is no time limit but "
                 "limits.timeout_ms\nof the server's block. 5 seconds after the client closed "
                 "standard input, the server is ended.\n",
        .example = "carrel tool-server files -w examples/tool-server -- ls /",
        .run = cmd_tool_server,
};
