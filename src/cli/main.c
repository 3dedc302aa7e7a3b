/*
 * cli/main.c - the `carrel` command: one table of commands, and the help that is printed from it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 * Knows which commands exist. Knows nothing of what they do.
 * Theory: the first argument names a row. `--help` after a command shows the row; an unknown word is an error with
 * the nearest thing to do next, never a guess.
 */
#include "cli/commands.h"

#include <string.h>

#ifndef CARREL_VERSION
#define CARREL_VERSION "0.1.0"
#endif

#define FIND_OPTIONS \
        "  -f FILE         the manifest; without it, the SANDBOX.md or WORKSPACE.md of the workspace\n" \
        "  -w DIR          the workspace; without it, the directory of FILE, else this one\n" \
        "  --host FILE     rules of the host; without it, those of this machine\n"

static const struct command commands[] = {
        { "run", "Run one command in a sandbox of its own, as the manifest says.",
          "[-f FILE] [-w DIR] [--host FILE] [-e NAME=VALUE] [-t] [--timeout T] [--json] [--raw] [--] COMMAND [ARGUMENTS]",
          FIND_OPTIONS
          "  -e NAME=VALUE   one more variable for the command (any number of times)\n"
          "  -t              a terminal inside, shown on this one\n"
          "  --timeout T     end it earlier than the manifest would: 1500ms, 30s, 5m, 2h\n"
          "  --json          one JSON object with output, ending and warnings\n"
          "  --raw           control bytes go to a terminal as they are (otherwise they are shown as ^X)\n",
          "carrel run -w examples/data-report/workspace -- python3 agent.py", cmd_run },
        { "plan", "Show what `run` would do, step by step, with undo and reason.",
          "[-f FILE] [-w DIR] [--host FILE] [--json]",
          FIND_OPTIONS
          "  --json          the steps as JSON\n",
          "carrel plan -w examples/data-report/workspace", cmd_plan },
        { "check", "Say everything that is wrong with a manifest, and where.",
          "[FILE] [-w DIR] [--stage parse|validate|resolve|authorise] [--host FILE] [--json]",
          "  FILE          the manifest; without it, the SANDBOX.md or WORKSPACE.md of the workspace\n"
          "  -w DIR        the workspace; without it, the directory of FILE\n"
          "  --stage S     judge up to this stage (default: authorise)\n"
          "  --host FILE   rules of the host; without it, those of this machine\n"
          "  --json        one JSON object: error, errors, warnings, norm\n",
          "carrel check examples/data-report/workspace/SANDBOX.md", cmd_check },
        { "doctor", "Try what this machine can enforce, and say what mends the rest.",
          "[--json]",
          "  --json        one JSON object\n",
          "carrel doctor", cmd_doctor },
        { "schema", "Print the JSON Schema of a sandbox block, from the table of its fields.",
          "", "", "carrel schema > sandbox.schema.json", cmd_schema },
        { "conformance", "Run a file of conformance cases, and print TAP 14.",
          "CASES.yaml [--json]",
          "  --json        one JSON object instead of TAP\n",
          "carrel conformance test/conform/aip36.yaml", cmd_conformance },
        { "providers", "List the providers of this host and what each can enforce.",
          "[--host FILE] [--json]",
          "  --host FILE   rules of the host; without it, those of this machine\n"
          "  --json        one JSON object\n",
          "carrel providers --json", cmd_providers },
        { "docs", "Print a part of the manual from the table that knows it.",
          "[PART] [--man]",
          "  --man         for a manual page (scdoc); without it, Markdown\n",
          "carrel docs errors", cmd_docs },
        { "help", "Show the commands, or one of them.", "[COMMAND]", "", "carrel help check", cmd_help },
        { "version", "Print the version.", "", "", "carrel version", cmd_version },
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const struct command *
command_find(const char *name)
{
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                if (strcmp(commands[i].name, name) == 0)
                        return &commands[i];
        return NULL;
}

const struct command *
command_at(size_t index)
{
        return index < COMMAND_COUNT ? &commands[index] : NULL;
}

void
cmd_usage(FILE *out, const char *name)
{
        const struct command *c = command_find(name);

        if (!c)
                return;
        (void)fprintf(out, "%s\n\nUsage: carrel %s%s%s\n", c->help, c->name, *c->usage ? " " : "", c->usage);
        if (*c->options)
                (void)fprintf(out, "\nOptions:\n%s", c->options);
        (void)fprintf(out, "\nExample: %s\n", c->example);
}

static void
overview(FILE *out)
{
        (void)fprintf(out, "carrel: runs the commands of an AI agent in a sandbox that a SANDBOX.md describes.\n\n"
                           "Usage: carrel COMMAND [ARGUMENTS]\n\nCommands:\n");
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                (void)fprintf(out, "  %-12s  %s\n", commands[i].name, commands[i].help);
        (void)fprintf(out, "\n`carrel help COMMAND` shows a command with an example.\n");
}

static int
unknown(const char *name)
{
        (void)fputs("carrel: there is no command of that name: ", stderr);
        for (size_t i = 0; i < 64 && name[i] != '\0'; i++)
                (void)fputc(name[i] >= ' ' && name[i] < 127 ? name[i] : '?', stderr);
        (void)fputs("\nNext: `carrel help` lists the commands.\n", stderr);
        return 125;
}

int
cmd_help(int argc, char **argv)
{
        if (argc < 2) {
                overview(stdout);
                return 0;
        }
        if (!command_find(argv[1]))
                return unknown(argv[1]);
        cmd_usage(stdout, argv[1]);
        return 0;
}

int
cmd_version(int argc, char **argv)
{
        (void)argc;
        (void)argv;
        (void)printf("carrel %s\n", CARREL_VERSION);
        return 0;
}

/* What was printed must have arrived; both are asked, because C libraries differ in which of them remembers. */
static int
printed(int status)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        (void)fputs("carrel: standard output could not be written\nNext: free some disk space, or write elsewhere.\n", stderr);
        return 125;
}

static int
dispatch(int argc, char **argv)
{
        const struct command *c;

        if (argc < 2) {
                overview(stderr);
                return 125;
        }
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
                return cmd_help(1, argv);
        if (strcmp(argv[1], "--version") == 0)
                return cmd_version(1, argv);
        c = command_find(argv[1]);
        if (!c)
                return unknown(argv[1]);
        if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
                cmd_usage(stdout, c->name);
                return 0;
        }
        return c->run(argc - 1, argv + 1);
}

int
main(int argc, char **argv)
{
        return printed(dispatch(argc, argv));
}
