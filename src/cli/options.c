/*
 * cli/options.c - reads a command's options.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

/* An unexpected word, and what it probably meant. */
static const struct {
        const char *command, *instead;
} extra_words[] = {
        { "create", "A name is given as --name NAME; a command is run afterwards: `carrel exec "
                    "NAME -- COMMAND`." },
        { "ls", "One sandbox is shown by `carrel info NAME`." },
        { "shell", "A command is run by `carrel exec NAME -- COMMAND`." },
        { "serve", "The daemon takes options alone: `carrel serve --help` shows them." },
};

static int
wrong(struct error *e, const char *command, const char *what, const char *word)
{
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.64s: %s \"%.100s\"", command, what, word);
        error_hint(e, "`carrel %.64s --help` shows how it is used.", command);
        return -1;
}

static int
unexpected(struct error *e, const char *command, const char *word)
{
        (void)wrong(e, command, "unexpected argument", word);
        for (size_t i = 0; i < sizeof extra_words / sizeof *extra_words; i++)
                if (strcmp(extra_words[i].command, command) == 0)
                        error_hint(e, "%s", extra_words[i].instead);
        return -1;
}

/*
 * Options of Docker and similar programs, with what has the same effect here. A command's own
 * options are checked first.
 */
static const struct {
        const char *names[4], *instead;
} foreign[] = {
        { { "--image", "--template", "--pull", "--platform" },
          "Carrel has no images: a sandbox sees the programs of this machine, read-only. `carrel "
          "create --runtime NAME` chooses a version." },
        { { "--network", "--net" },
          "Only hosts that are named can be reached: `carrel run --allow HOST`, `carrel create "
          "--allow HOST`, or network.egress in SANDBOX.md." },
        { { "--rm" },
          "`carrel run` always removes its sandbox. One of `carrel create` stays until `carrel "
          "stop NAME`, or ends with --timeout T." },
        { { "--cpus", "--cpu-shares", "--cpu-quota" },
          "Write it in SANDBOX.md: metadata: {carrel: {limits: {cpu_millicores: 1000}}}, where "
          "1000 is one processor." },
        { { "--memory", "-m" },
          "A limit holds for a whole sandbox: `carrel run --memory 512m`, `carrel create --memory "
          "512m`, or limits.memory_mb in SANDBOX.md." },
        { { "--pids", "--pids-limit" },
          "A limit holds for a whole sandbox: `carrel run --pids N`, `carrel create --pids N`." },
        { { "--disk", "--tmpfs", "--shm-size", "--storage-opt" },
          "A limit holds for a whole sandbox: `carrel run --disk 4g`, `carrel create --disk 4g`." },
        { { "--ulimit" },
          "Write it in SANDBOX.md: metadata: {carrel: {limits: {open_files: 65536}}}." },
        { { "--env-file" },
          "Repeat -e NAME=VALUE, or name variables to forward in SANDBOX.md: env: {passthrough: "
          "[NAME]}." },
        { { "--env" }, "Write it as -e NAME=VALUE." },
        { { "-it", "-ti" }, "-t shows a terminal; standard input is forwarded anyway." },
        { { "-i", "--interactive" }, "Leave it out: standard input is forwarded anyway." },
        { { "--tty" }, "Write it as -t." },
        { { "--privileged", "--cap-add", "--device", "--gpus" },
          "No option gives a sandbox privileges, capabilities or devices of this machine." },
        { { "--security-opt", "--cap-drop", "--userns" },
          "Leave it out: a sandbox has no capabilities and its system calls are always filtered." },
        { { "--user", "-u" },
          "Leave it out: commands always run as an ordinary user inside (uid 1000)." },
        { { "--entrypoint" },
          "Write the whole command line after the options: -- COMMAND ARGUMENTS." },
        { { "--volume", "--mount", "-v" },
          "A mount belongs to a whole sandbox: `carrel run -v DIR:PATH`, `carrel create -v "
          "DIR:PATH`, or mounts in SANDBOX.md." },
        { { "--workdir" }, "`carrel exec --cwd DIR`, or config: {cwd: DIR} in SANDBOX.md." },
        { { "-d", "--detach" },
          "Run it in a sandbox that stays: `carrel create --name demo`, then `carrel exec -d demo "
          "-- COMMAND`." },
        { { "-p", "--publish", "--expose" },
          "Ports belong to a sandbox that stays: `carrel create --name demo -p 3000`, then `carrel "
          "url demo 3000`." },
        { { "-a", "--all" },
          "Leave it out: everything is listed. To stop every sandbox: `carrel stop $(carrel ls "
          "-q)`." },
        { { "-9", "-15" },
          "Leave it out: the whole process tree is killed. A signal is named with -s, as in -s "
          "TERM." },
        { { "-c" }, "A line for a shell is given to one: `-- sh -c 'LINE'`." },
        { { "--read-only" },
          "Write it in SANDBOX.md: mounts: [{source: workspace, at: /workspace, mode: "
          "read-only}]." },
        { { "--bind", "--ro-bind", "--dir" },
          "A mount is written -v DIR:PATH or -v DIR:PATH:ro. The system's directories are there, "
          "read-only." },
        { { "--unshare-all", "--unshare-net", "--die-with-parent", "--new-session" },
          "Leave it out: every sandbox has namespaces of its own, and ends with its caller." },
        { { "--restart", "--init" },
          "Leave it out: pid 1 inside reaps processes, and a sandbox of the daemon stays until it "
          "is stopped." },
        { { "--label" },
          "Labels are metadata of a sandbox that stays: `carrel create --metadata '{\"team\": "
          "\"a\"}'`." },
        { { "--dns", "--add-host", "--hostname" },
          "Leave it out: the host resolves the names that network.egress lists." },
        { { "--name" },
          "A name belongs to a sandbox that stays: `carrel create --name demo`, then `carrel exec "
          "demo -- COMMAND`." },
};

static const char *
instead_of(const char *option, size_t len)
{
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
                for (size_t k = 0;
                     k < sizeof foreign[i].names / sizeof *foreign[i].names && foreign[i].names[k];
                     k++)
                        if (strlen(foreign[i].names[k]) == len &&
                            strncmp(foreign[i].names[k], option, len) == 0)
                                return foreign[i].instead;
        return NULL;
}

void
option_unknown_hint(struct error *e, const char *command, const char *option, const char *meant)
{
        const char *instead = instead_of(option, strcspn(option, "="));

        if (instead)
                error_hint(e, "%s `carrel %.64s --help` shows every option.", instead, command);
        else if (meant)
                error_hint(e, "Did you mean %.32s? `carrel %.64s --help` shows every option.",
                           meant, command);
        else
                error_hint(e, "`carrel %.64s --help` shows every option.", command);
}

static int
unknown(struct error *e, const char *command, const char *word, const struct option_row *rows,
        size_t count)
{
        char name[NEAREST_WORD_MAX + 2];
        struct nearest n;

        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        n = nearest_begin(name);
        for (size_t i = 0; i < count; i++)
                (void)nearest_try(&n, rows[i].name, rows[i].name);
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.64s: unknown option \"%.100s\"", command, word);
        option_unknown_hint(e, command, word, n.found);
        return -1;
}

/* The row that `word` names, and the value after "=", if any. */
static const struct option_row *
find_row(const struct option_row *rows, size_t count, const char *word, const char **ret_value)
{
        for (size_t i = 0; i < count; i++) {
                size_t len = strlen(rows[i].name);

                if (strncmp(word, rows[i].name, len) != 0 ||
                    (word[len] != '\0' && word[len] != '='))
                        continue;
                *ret_value = word[len] == '=' ? word + len + 1 : NULL;
                return &rows[i];
        }
        return NULL;
}

/* Reads one option; returns how many arguments it used. */
static int
take(int argc, char **argv, int at, const struct option_row *rows, size_t count, int *ret_used,
     struct error *e)
{
        const char *value = NULL;
        const struct option_row *row = find_row(rows, count, argv[at], &value);

        *ret_used = 1;
        if (!row)
                return unknown(e, argv[0], argv[at], rows, count);
        if (row->flag) {
                if (value)
                        return wrong(e, argv[0], "this option takes no value:", argv[at]);
                *row->flag = true;
                return 0;
        }
        if (!value) {
                if (at + 1 >= argc)
                        return wrong(e, argv[0], "this option needs a value:", argv[at]);
                value = argv[at + 1];
                *ret_used = 2;
        }
        if (!row->list)
                *row->text = value;
        else if (row->list->count < OPTION_LIST_MAX)
                row->list->items[row->list->count++] = value;
        else
                return wrong(e, argv[0], "this option is repeated too often:", argv[at]);
        return 0;
}

int
options_read(int argc, char **argv, const struct option_row *rows, size_t row_count,
             const char **words, size_t words_max, size_t *ret_word_count, struct error *e)
{
        bool is_ended = false;
        size_t count = 0;
        int used;

        for (int i = 1; i < argc; i += used) {
                used = 1;
                if (!is_ended && strcmp(argv[i], "--") == 0) {
                        is_ended = true;
                        continue;
                }
                if (!is_ended && argv[i][0] == '-' && argv[i][1] != '\0') {
                        if (take(argc, argv, i, rows, row_count, &used, e) < 0)
                                return -1;
                        continue;
                }
                if (count == words_max)
                        return unexpected(e, argv[0], argv[i]);
                words[count++] = argv[i];
        }
        *ret_word_count = count;
        return 0;
}

int
options_read_command(int argc, char **argv, const struct option_row *rows, size_t row_count,
                     const char **words, size_t words_max, size_t *ret_word_count, int *ret_rest,
                     struct error *e)
{
        size_t count = 0;
        int used, at;

        for (at = 1; at < argc; at += used) {
                bool is_option = argv[at][0] == '-' && argv[at][1] != '\0';

                used = 1;
                if (strcmp(argv[at], "--") == 0) {
                        at++;
                        break;
                }
                if (is_option && take(argc, argv, at, rows, row_count, &used, e) < 0)
                        return -1;
                if (!is_option && count == words_max)
                        break;
                if (!is_option)
                        words[count++] = argv[at];
        }
        *ret_word_count = count;
        *ret_rest = at;
        return 0;
}
