/*
 * cli/options.c - reads a command line by the table of its command.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
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
wrong(struct error *e, const char *command, const char *word, const char *what)
{
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.64s: %.100s %s", command, word, what);
        error_hint(e, "`carrel %.64s --help` shows how it is used.", command);
        return -1;
}

static int
unexpected(struct error *e, const char *command, const char *word)
{
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.64s: unexpected argument \"%.100s\"", command,
                   word);
        error_hint(e, "`carrel %.64s --help` shows how it is used.", command);
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
          "SANDBOX.md names an image: `provider: container`, `config: {image: NAME}`. `carrel "
          "create --runtime NAME` chooses a version of the host's programs." },
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

static int
unknown(struct error *e, const struct command *c, const char *word)
{
        const char *instead = instead_of(word, strcspn(word, "="));
        char name[NEAREST_WORD_MAX + 2];
        struct nearest n;

        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        n = nearest_begin(name);
        for (const struct option *row = c->options; row && row->name; row++)
                (void)nearest_try(&n, row->name, row->name);
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.64s: unknown option \"%.100s\"%s", c->name, word,
                   c->rest ? "; put -- before a command that starts with a dash" : "");
        if (instead)
                error_hint(e, "%s `carrel %.64s --help` shows every option.", instead, c->name);
        else if (n.found)
                error_hint(e, "Did you mean %.32s? `carrel %.64s --help` shows every option.",
                           n.found, c->name);
        else
                error_hint(e, "`carrel %.64s --help` shows every option.", c->name);
        return -1;
}

bool
option_is_repeatable(const struct option *row)
{
        return row->store == OPTION_STRINGS ||
               (row->store == OPTION_CHANGE && row->kind != VALUE_SIZE && row->kind != VALUE_TASKS);
}

const struct option *
option_find(const struct command *c, const char *word, const char **ret_value)
{
        for (const struct option *row = c->options; row && row->name; row++) {
                size_t len = strlen(row->name);

                if (strncmp(word, row->name, len) != 0 || (word[len] != '\0' && word[len] != '='))
                        continue;
                *ret_value = word[len] == '=' ? word + len + 1 : NULL;
                return row;
        }
        return NULL;
}

/* Checks a value, and stores it. */
static int
store(const struct command *c, const struct option *row, const char *value, void *into,
      struct error *e)
{
        char *at = (char *)into + row->offset;
        struct value_place place = { c->name, row->name };
        struct option_list *list;

        switch (row->store) {
        case OPTION_BOOL:
                *(bool *)(void *)at = true;
                return 0;
        case OPTION_STRING:
                *(const char **)(void *)at = value;
                return value_check(row->kind, place, value, e);
        case OPTION_UINT64:
                return value_uint_read(row->kind, place, value, (uint64_t *)(void *)at, e);
        case OPTION_CHANGE:
                return override_add((struct override_set *)(void *)at, c->name, row->name, value,
                                    e);
        case OPTION_STRINGS:
                list = (struct option_list *)(void *)at;
                if (list->count == OPTION_LIST_MAX)
                        return wrong(e, c->name, row->name, "is given too often");
                list->items[list->count++] = value;
                return value_check(row->kind, place, value, e);
        }
        return fail(e, ERROR_INTERNAL, "%s is not stored", row->name);
}

/* Reads one option; *ret_used is the number of its arguments. */
static int
take(const struct command *c, char **argv, void *into, int *ret_used, struct error *e)
{
        const char *value = NULL;
        const struct option *row = option_find(c, argv[0], &value);

        *ret_used = 1;
        if (!row)
                return unknown(e, c, argv[0]);
        if (row->store == OPTION_BOOL && value)
                return wrong(e, c->name, row->name, "takes no value");
        if (row->store != OPTION_BOOL && !value) {
                value = argv[1];
                *ret_used = 2;
                if (!value)
                        return wrong(e, c->name, row->name, "needs a value");
        }
        return store(c, row, value, into, e);
}

static size_t
words_max(const struct command *c)
{
        size_t count = 0;

        for (const struct operand *o = c->operands; o && o->name; o++)
                count += !o->is_action;
        return c->words_max > 0 ? c->words_max : count;
}

static bool
is_action(const struct operand *o, const char *word)
{
        size_t len = strcspn(o->name, " ");

        return strlen(word) == len && strncmp(o->name, word, len) == 0;
}

const struct operand *
operand_at(const struct command *c, const char *first, size_t position)
{
        const struct operand *last = NULL;

        if (position >= words_max(c))
                return NULL;
        for (const struct operand *o = c->operands; o && o->name; o++) {
                if (o->is_action && position > 0 && is_action(o, first))
                        return o;
                if (!o->is_action && position-- == 0)
                        return o;
                last = o->is_action ? NULL : o;
        }
        return last;
}

/* Are the required words there? A command without `needs` checks them itself. */
static int
check_words(const struct command *c, size_t count, struct error *e)
{
        size_t required = 0;

        for (const struct operand *o = c->operands; o && o->name; o++)
                required += !o->is_action && o->name[0] != '[';
        if (!c->needs || count >= required)
                return 0;
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.32s needs %s", c->name, c->needs);
        error_hint(e, "For example: %s. `carrel %.32s --help` shows the rest.", c->example,
                   c->name);
        return -1;
}

int
options_read(const struct command *c, int argc, char **argv, void *into, struct words *ret,
             struct error *e)
{
        bool is_ended = false;
        size_t max = words_max(c);
        int used, at;

        *ret = (struct words){ .items = argv + 1 };
        for (at = 1; at < argc; at += used) {
                bool is_option = !is_ended && argv[at][0] == '-' && argv[at][1] != '\0';

                used = 1;
                if (is_option && strcmp(argv[at], "--") == 0) {
                        is_ended = true;
                        if (!c->rest)
                                continue;
                        at++;
                        break;
                }
                if (is_option && take(c, argv + at, into, &used, e) < 0)
                        return -1;
                if (!is_option && ret->count == max && c->rest)
                        break;
                if (!is_option && ret->count == max)
                        return unexpected(e, c->name, argv[at]);
                if (!is_option)
                        ret->items[ret->count++] = argv[at];
        }
        ret->rest = argv + at;
        ret->rest_count = (size_t)(argc - at);
        return check_words(c, ret->count, e);
}
