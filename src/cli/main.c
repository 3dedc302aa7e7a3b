/*
 * cli/main.c - the `carrel` command: the list of commands, and the help that is printed from it.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 * Knows which commands exist. Knows nothing of what they do.
 * Theory: the first argument names a row. `--help` after a command shows the row; an unknown word
 * is an error with the next step to take, never a guess.
 */
#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/finding_print.h"
#include "cli/host_tool.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "text/nearest.h"

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct operand help_operands[] = { { "[COMMAND]", VALUE_COMMAND }, { NULL } };

static const struct command command_help = {
        .name = "help",
        .help = "Show the commands, or one of them.",
        .operands = help_operands,
        .example = "carrel help check",
        .run = cmd_help,
};

static const struct command command_version = {
        .name = "version",
        .help = "Print the version.",
        .example = "carrel version",
        .run = cmd_version,
};

/* In the order of `carrel help`; related commands are adjacent. */
static const struct command *const commands[] = {
        &command_init,    &command_run,         &command_code,       &command_plan,
        &command_gate,    &command_check,       &command_allow,      &command_policy,
        &command_volume,  &command_image,       &command_audit,      &command_doc,
        &command_doctor,  &command_providers,   &command_provider,   &command_tool_server,
        &command_serve,   &command_mcp,         &command_key,        &command_create,
        &command_ls,      &command_info,        &command_exec,       &command_shell,
        &command_ps,      &command_output,      &command_kill,       &command_cp,
        &command_extend,  &command_pause,       &command_resume,     &command_network,
        &command_limits,  &command_denials,     &command_usage,      &command_approvals,
        &command_approve, &command_deny,        &command_url,        &command_stop,
        &command_events,  &command_help,        &command_completion, &command_docs,
        &command_schema,  &command_conformance, &command_version,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], NAME_WIDTH = 12 };

const struct command *
command_find(const char *name)
{
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                if (strcmp(commands[i]->name, name) == 0)
                        return commands[i];
        return NULL;
}

const struct command *
command_at(size_t index)
{
        return index < COMMAND_COUNT ? commands[index] : NULL;
}

/* The headings of `carrel help`: each is printed above the row it names. */
static const struct {
        const char *first, *title;
} headings[] = {
        { "run", "One command, without a daemon" },
        { "serve", "The daemon" },
        { "create", "Its sandboxes" },
        { "help", "The manual" },
};

static void
overview_heading(FILE *out, const char *command)
{
        for (size_t i = 0; i < sizeof headings / sizeof *headings; i++)
                if (strcmp(headings[i].first, command) == 0)
                        (void)fprintf(out, "\n%s:\n", headings[i].title);
}

static void
overview(FILE *out)
{
        (void)fprintf(out, "carrel: runs the commands of an AI agent in a sandbox that a\n"
                           "SANDBOX.md describes.\n\n"
                           "Usage: carrel COMMAND [ARGUMENTS]\n");
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
                overview_heading(out, commands[i]->name);
                usage_row(out, NAME_WIDTH, commands[i]->name, commands[i]->help);
        }
        (void)fprintf(out, "\n`carrel help COMMAND` shows a command with an example.\n");
}

/* Command names of similar programs, for people who are used to them. */
static const struct {
        const char *word, *command;
} strangers[] = {
        { "rm", "stop" },       { "remove", "stop" },    { "delete", "stop" },
        { "destroy", "stop" },  { "logs", "output" },    { "log", "output" },
        { "attach", "output" }, { "start", "create" },   { "new", "create" },
        { "up", "serve" },      { "daemon", "serve" },   { "list", "ls" },
        { "inspect", "info" },  { "status", "info" },    { "show", "info" },
        { "top", "ps" },        { "unpause", "resume" }, { "copy", "cp" },
        { "port", "url" },      { "validate", "check" }, { "token", "key" },
        { "upload", "cp" },     { "download", "cp" },    { "watch", "events" },
        { "sh", "shell" },      { "bash", "shell" },     { "ssh", "shell" },
        { "enter", "shell" },   { "login", "shell" },    { "permit", "allow" },
        { "config", "check" },  { "mount", "allow" },    { "setup", "init" },
};

static bool
is_other_word(const char *name)
{
        for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
                if (strcmp(strangers[i].word, name) == 0)
                        return true;
        return false;
}

static const char *
command_meant(const char *name)
{
        struct nearest n = nearest_begin(name);

        for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
                if (strcmp(strangers[i].word, name) == 0)
                        return strangers[i].command;
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                (void)nearest_try(&n, commands[i]->name, commands[i]->name);
        return n.found;
}

/* Docker's image commands; NULL: the word is not one of these. */
static const char *
no_images(const char *name)
{
        static const char *const words[] = { "images", "image",  "pull", "push", "build",
                                             "tag",    "commit", "load", "save" };

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcmp(words[i], name) == 0)
                        return "`carrel image` has the commands for images. SANDBOX.md names one: "
                               "provider: container, config: {image: NAME}.";
        return NULL;
}

static int
unknown(const char *name)
{
        const char *images = no_images(name), *meant = command_meant(name);
        struct host_tool tool;

        (void)fputs(name[0] == '-' ? "carrel: a command comes first, and then its options: "
                                   : "carrel: there is no command of that name: ",
                    stderr);
        for (size_t i = 0; i < 64 && name[i] != '\0'; i++)
                (void)fputc(name[i] >= ' ' && name[i] < 127 ? name[i] : '?', stderr);
        if (images)
                (void)fprintf(stderr, "\nNext: %s\n", images);
        else if (strlen(name) < 64 &&
                 strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.+_-") == strlen(name) &&
                 name[0] != '-' && host_tool_find(name, &tool) && !is_other_word(name))
                (void)fprintf(stderr,
                              "\nNext: to run %s in a sandbox: carrel run -- %s ... `carrel help` "
                              "lists the commands.\n",
                              name, name);
        else if (meant)
                (void)fprintf(
                        stderr,
                        "\nNext: did you mean `carrel %s`? `carrel help` lists the commands.\n",
                        meant);
        else
                (void)fputs("\nNext: `carrel help` lists the commands.\n", stderr);
        return 125;
}

static int
cmd_help(int argc, char **argv)
{
        struct words words;
        struct error e;

        if (options_read(&command_help, argc, argv, NULL, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        if (words.count == 0) {
                overview(stdout);
                return 0;
        }
        if (!command_find(words.items[0]))
                return unknown(words.items[0]);
        usage_print(stdout, command_find(words.items[0]));
        return 0;
}

static int
cmd_version(int argc, char **argv)
{
        struct words words;
        struct error e;

        if (options_read(&command_version, argc, argv, NULL, &words, &e) < 0)
                return print_failure(NULL, &e, false);
        (void)printf("carrel %s\n", CARREL_VERSION);
        return 0;
}

/*
 * If the caller closed a standard stream, the next opened descriptor would get its number: a
 * daemon's answers would become the command's input, and its output the daemon's requests. So a
 * descriptor that can be neither read nor written is put there.
 */
static int
hold_streams(void)
{
        static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };

        for (int fd = 0; fd < 3; fd++)
                if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
                    open("/dev/null", modes[fd]) != fd) /* lint: it is there for good */
                        return -1;
        return 0;
}

/*
 * Checks that all output was written; both calls are needed, because C libraries differ in which of
 * them keeps an error.
 */
static int
printed(int status)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        return print_unwritten(0);
}

static bool
is_help(const char *word)
{
        return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Also after an action: `carrel audit verify --help`. */
static bool
wants_help(const struct command *c, int argc, char **argv)
{
        if (argc > 2 && is_help(argv[2]))
                return true;
        for (const struct operand *o = c->operands; argc > 3 && o && o->name; o++) {
                size_t len = strcspn(o->name, " ");

                if (o->is_action && strncmp(o->name, argv[2], len) == 0 && argv[2][len] == '\0')
                        return is_help(argv[3]);
        }
        return false;
}

static int
dispatch(int argc, char **argv)
{
        const struct command *c;

        if (argc < 2) {
                overview(stderr);
                return 125;
        }
        if (is_help(argv[1]))
                return cmd_help(1, argv);
        if (strcmp(argv[1], "--version") == 0)
                return cmd_version(1, argv);
        c = command_find(argv[1]);
        if (!c)
                return unknown(argv[1]);
        if (wants_help(c, argc, argv)) {
                usage_print(stdout, c);
                return 0;
        }
        return c->run(argc - 1, argv + 1);
}

int
main(int argc, char **argv)
{
        if (hold_streams() < 0)
                return 125;
        return printed(dispatch(argc, argv));
}
