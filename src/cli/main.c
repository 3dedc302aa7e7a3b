/*
 * cli/main.c - the `carrel` command: one table of commands, and the help that is printed from it.
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
#include "text/nearest.h"

#define FIND_OPTIONS                                                                              \
        "  -f FILE         the manifest (default: SANDBOX.md or WORKSPACE.md in the workspace)\n" \
        "  -w DIR          the workspace (default: the directory of FILE, else this directory)\n" \
        "  --host FILE     host file (default: /etc/carrel/host.yaml and "                        \
        "~/.config/carrel/host.yaml)\n"

#define VALUE_USAGE " [--memory SIZE] [--disk SIZE] [--pids N] [--allow HOST] [-v FROM:PATH[:ro]]"
#define VALUE_OPTIONS                                                                             \
        "  --memory SIZE   limits.memory_mb for this sandbox: 512m, 2g; at most the manifest's "  \
        "value\n"                                                                                 \
        "  --disk SIZE     metadata.carrel.limits.disk_mb for this sandbox; at most the "         \
        "manifest's value\n"                                                                      \
        "  --pids N        metadata.carrel.limits.pids for this sandbox; at most the manifest's " \
        "value\n"                                                                                 \
        "  --allow HOST    add an entry to network.egress (repeatable)\n"                         \
        "  -v FROM:PATH[:ro]  add a mount: a volume NAME, created if missing; a directory that "  \
        "the host file permits (mount_roots); or ./DIR of the workspace (repeatable)\n"

#define ASK_USAGE " [--state DIR] [--json]"
#define STATE_OPTION                                                                              \
        "  --state DIR     the daemon's state directory (default: CARREL_STATE, or that of this " \
        "user)\n"
#define ASK_OPTIONS  \
        STATE_OPTION \
        "  --json          one JSON object\n"

/* In the order of `carrel help`; related commands are adjacent. */
static const struct command commands[] = {
        { "init",
          "Write a SANDBOX.md for the project in a directory: npm, pnpm, pip, uv, cargo, go, mvn, "
          "make.",
          "[DIR] [--print]",
          "  DIR             the project (default: this directory); an existing SANDBOX.md is not "
          "changed\n"
          "  --print         print the file instead of writing it\n",
          "carrel init --print", cmd_init },
        { "run", "Run one command in a new sandbox, as declared in the manifest.",
          "[-f FILE] [-w DIR] [--host FILE] [-e NAME=VALUE] [-t] [--timeout T]" VALUE_USAGE
          " [--json] [--raw] [--] COMMAND [ARGUMENTS]",
          FIND_OPTIONS
          "  -e NAME=VALUE   set an environment variable (repeatable)\n"
          "  -t              run it in a terminal inside, connected to this one; no time limit by "
          "default\n"
          "  --timeout T     time limit: 1500ms, 30s, 5m, 2h (default: limits.timeout_ms of the "
          "manifest, else 10m); at most limits.timeout_ms\n" VALUE_OPTIONS
          "  --json          one JSON object with output, outcome and warnings\n"
          "  --raw           print control bytes to a terminal unchanged (default: shown as ^X)\n",
          "carrel run -w examples/data-report/workspace -- python3 agent.py", cmd_run },
        { "plan",
          "Dry run: show what a command can see, write, reach and use; with --steps each step of "
          "the creation.",
          "[-f FILE] [-w DIR] [--host FILE]" VALUE_USAGE " [--steps] [--json]",
          FIND_OPTIONS VALUE_OPTIONS
          "  --steps         also print every step, why it is taken and how it is undone\n"
          "  --json          the steps as JSON\n",
          "carrel plan -w examples/data-report/workspace", cmd_plan },
        { "gate",
          "Run a program with the network filter only: it reaches the listed hosts, and nothing "
          "else on the network.",
          "[--policy FILE] [--host FILE] [--resolver ADDRESS:PORT] [--private-network CIDR] "
          "[--connections N] [--bytes-out N] [--bytes-in N] [--bandwidth N] [--routed] [--json] "
          "[--] COMMAND [ARGUMENTS] | explain HOST[:PORT]",
          "  --policy FILE           network.egress of a SANDBOX.md, or a list in YAML or JSON: "
          "[\"api.example.com\", \"*.example.org\", \"db.example.com:5432\"]\n"
          "  --host FILE             host file (default: /etc/carrel/host.yaml and "
          "~/.config/carrel/host.yaml)\n"
          "  --resolver A:P          use this resolver (repeatable; default: those of "
          "/etc/resolv.conf)\n"
          "  --private-network CIDR  allow these private addresses (repeatable)\n"
          "  --connections N         maximum number of connections at once; more are accepted and "
          "reset\n"
          "  --bytes-out N           maximum number of bytes sent, in total\n"
          "  --bytes-in N            maximum number of bytes received, in total\n"
          "  --bandwidth N           maximum bytes per second, in each direction\n"
          "  --routed                keep every port free for the command: the filter listens in a "
          "second namespace\n"
          "  --json                  print refusals as one JSON object on standard error; explain: "
          "on standard output\n"
          "  explain                 print which rule decides, and why; exit status 0: allowed, 1: "
          "denied\n"
          "SIGUSR1 from outside the filter reloads the policy; connections that it no longer "
          "allows are reset.\n"
          "Only the network is limited; files, unix sockets and other processes stay accessible. "
          "For untrusted programs use `carrel run`.\n",
          "carrel gate --policy examples/data-report/workspace/SANDBOX.md -- python3 -c pass",
          cmd_gate },
        { "check",
          "Report every error in a manifest, and where it is; with --host and no manifest, in the "
          "host file.",
          "[FILE] [-w DIR] [--stage parse|validate|resolve|authorise] [--host FILE] [--json]",
          "  FILE          the manifest (default: SANDBOX.md or WORKSPACE.md in the workspace)\n"
          "  -w DIR        the workspace (default: the directory of FILE)\n"
          "  --stage S     last stage to check (default: authorise)\n"
          "  --host FILE   host file (default: /etc/carrel/host.yaml and "
          "~/.config/carrel/host.yaml)\n"
          "  --json        one JSON object: error, errors, warnings, norm\n",
          "carrel check examples/data-report/workspace/SANDBOX.md", cmd_check },
        { "allow",
          "Permit something in a host file: tools, mounts, private names, ports of this machine.",
          "tool|mount|name|host-port VALUE... [--machine] [--host FILE] [--json]",
          "  tool DIR      allow manifests to use DIR, read-only: metadata.carrel.tools\n"
          "  mount DIR     allow manifests to mount DIR\n"
          "  name HOST     allow manifests to list this private name: db.internal:5432, or "
          "db.internal for every port\n"
          "  host-port N   allow manifests to use this port of this machine's loopback: "
          "metadata.carrel.egress.host_ports\n"
          "  --machine     write /etc/carrel/host.yaml, for every user (default: "
          "~/.config/carrel/host.yaml, for you)\n"
          "  --host FILE   write this host file\n"
          "  --json        one JSON object\n"
          "The rest of the file is kept, including comments. Send SIGHUP to a running daemon to "
          "reload its host file.\n",
          "carrel allow --host /tmp/carrel-host.yaml tool /usr/local", cmd_allow },
        { "volume",
          "Create, list and remove volumes: directories that outlive sandboxes, for homes and "
          "caches.",
          "create NAME... | ls | rm NAME... | prune [--force] [-q] [--state DIR] [--json]",
          "  create NAME   create a volume; an existing one is not changed (`carrel run -v "
          "NAME:PATH` creates it too)\n"
          "  ls            list name, size, last use, and a sandbox that uses it\n"
          "  rm NAME       remove volumes with their content; refused while a sandbox uses one\n"
          "  prune         remove all volumes that are not in use; asks first\n"
          "  --force       prune without asking\n"
          "  -q            ls: names only\n"
          "  --state DIR   the state directory (default: CARREL_STATE, /var/lib/carrel as root, "
          "else ~/.local/state/carrel)\n"
          "  --json        one JSON object\n",
          "carrel volume ls", cmd_volume },
        { "doctor", "Show what this machine can enforce, and how to fix what is missing.",
          "[--json]", "  --json        one JSON object\n", "carrel doctor", cmd_doctor },
        { "providers", "List the providers of this host and what each can enforce.",
          "[--host FILE] [--json]",
          "  --host FILE   host file (default: /etc/carrel/host.yaml and "
          "~/.config/carrel/host.yaml)\n"
          "  --json        one JSON object\n",
          "carrel providers --json", cmd_providers },
        { "serve", "Run the daemon in the foreground. It keeps sandboxes for the commands below.",
          "[--state DIR] [--listen ADDRESS:PORT] [--ports ADDRESS:PORT] [--host FILE] [--pool N "
          "[--pool-manifest FILE]] [--delete-after T] [--socket-mode MODE] [--json] [--graph]",
          "  --state DIR           directory for state and sockets (default: CARREL_STATE; "
          "/var/lib/carrel as root; else ~/.local/state/carrel)\n"
          "  --listen A:P          also serve HTTP on a loopback address, with the token in "
          "DIR/token; 127.0.0.1:0 selects a free port\n"
          "  --ports A:P           address for ports of sandboxes (default: a free port that stays "
          "the same); off: none\n"
          "  --host FILE           host file (default: /etc/carrel/host.yaml and "
          "~/.config/carrel/host.yaml); read again on SIGHUP\n"
          "  --pool N              keep N sandboxes ready\n"
          "  --pool-manifest FILE  their manifest (default: no network and no mounts)\n"
          "  --delete-after T      delete every sandbox this long after its creation, unless its "
          "caller sets another time: 24h\n"
          "  --socket-mode MODE    mode of the unix sockets (default: 0600); users with write "
          "access can create sandboxes\n"
          "  --json                log to standard error as JSON, one object a line\n"
          "  --graph               print the daemon's processes and their connections, and exit\n",
          "carrel serve --state ~/carrel-state", cmd_serve },
        { "mcp",
          "Serve the Model Context Protocol on standard input and output, with a sandbox as tools.",
          "[-f FILE] [-w DIR] [--state DIR] [--sandbox ID] [--context] [--context-key KEY] "
          "[--cache-key FIELD] [--runtime NAME] [--tool-names mastra|plain] "
          "[--keep-background] [--manage] [--instructions resolve]",
          "  -f FILE            the manifest (default: SANDBOX.md or WORKSPACE.md in the "
          "workspace); without one, no command tool is offered\n"
          "  -w DIR             the workspace (default: the directory of FILE, else this "
          "directory)\n"
          "  --state DIR        state directory of the daemon; if no daemon is running and this is "
          "not given, one is started for this agent\n"
          "  --sandbox ID       use this sandbox, and create none\n"
          "  --context          the context of each request chooses the sandbox: "
          "params._meta[\"carrel/context\"]\n"
          "  --context-key KEY  use this context for every request\n"
          "  --cache-key FIELD  only this member of the context chooses the sandbox\n"
          "  --runtime NAME     template of new sandboxes: python3, node24, ...\n"
          "  --tool-names N     mastra (default): mastra_workspace_execute_command, ...; plain: "
          "execute_command, ...\n"
          "  --keep-background  keep background processes running when the agent ends\n"
          "  --manage           the agent can create sandboxes with any manifest, and use all of "
          "yours\n"
          "  --instructions I   resolve: create a context's sandbox to describe it; placeholder "
          "(default): do not\n",
          "carrel mcp -w examples/data-report/workspace", cmd_mcp },
        { "key", "Create, list and revoke tokens for clients over TCP.",
          "new|ls|rm [TOKEN-ID] [--owner NAME] [--scope all|read]" ASK_USAGE,
          "  --owner NAME    owner of the sandboxes that it can use (default: you)\n"
          "  --scope S       all, or read: get and list only\n" ASK_OPTIONS,
          "carrel key ls", cmd_key },
        { "create", "Register a sandbox with the daemon; it starts on first use.",
          "[-f FILE] [-w DIR] [--name NAME] [--timeout T] [--runtime R] [-p PORT] [-e "
          "NAME=VALUE]" VALUE_USAGE
          " [--start] [--claim] [--delete-after T] [--metadata JSON] [--key K] [-q]" ASK_USAGE,
          "  -f FILE          the manifest (default: SANDBOX.md or WORKSPACE.md in the workspace, "
          "else no network and no mounts)\n"
          "  -w DIR           the workspace (default: the directory of FILE, or this directory if "
          "it has a manifest)\n"
          "  --name NAME      unique name\n"
          "  --timeout T      stop it after this time: 30s, 10m, 2h\n"
          "  --delete-after T  hard deadline; `extend` cannot move it (default: the daemon's "
          "`serve --delete-after`)\n"
          "  --runtime R      a template: python3, node24; `carrel info` lists them\n"
          "  -p PORT          declare a port for `carrel url` (repeatable)\n"
          "  -e NAME=VALUE    set an environment variable for its commands "
          "(repeatable)\n" VALUE_OPTIONS "  --start          start it at once\n"
          "  --claim          take a ready one from the pool\n"
          "  --metadata JSON  your own data, returned unchanged\n"
          "  --key K          idempotency key: repeating the call returns the existing sandbox\n"
          "  -q               print only the id\n" ASK_OPTIONS,
          "carrel create --name demo --timeout 10m -p 3000", cmd_create },
        { "ls", "List the sandboxes of the daemon.", "[-q]" ASK_USAGE,
          "  -q              print only the ids\n" ASK_OPTIONS, "carrel ls", cmd_ls },
        { "info", "Show one sandbox, or the daemon itself.", "[ID] [--instructions]" ASK_USAGE,
          "  --instructions  print a description of the sandbox for a language model\n" ASK_OPTIONS,
          "carrel info demo", cmd_info },
        { "exec", "Run a command in a sandbox, as if it ran here.",
          "[-t] [-d] [--cwd DIR] [-e NAME=VALUE] [--timeout T] [--no-input] [--kill-rest] "
          "[--wait-ports] [--wait-timeout T] [--task T] [--key K] [--raw]" ASK_USAGE
          " ID [--] COMMAND [ARGUMENTS]",
          "  -t              run it in a terminal inside, connected to this one\n"
          "  -d              run it in the background, and print its number\n"
          "  --cwd DIR       working directory inside\n"
          "  -e NAME=VALUE   set an environment variable (repeatable)\n"
          "  --timeout T     time limit: 1500ms, 30s, 5m, 2h (default: limits.timeout_ms of the "
          "manifest, else none); at most limits.timeout_ms\n"
          "  --no-input      do not forward standard input (default: forwarded)\n"
          "  --kill-rest     when it ends, kill the processes that it left running\n"
          "  --wait-ports    return when one of the sandbox's declared ports begins to listen; the "
          "command keeps running\n"
          "  --wait-timeout T  maximum time to wait for a port: 1500ms, 30s, 5m, 2h (default: "
          "until the command ends); then exit with status 124\n"
          "  --task T        task of the command; ending the task kills it\n"
          "  --key K         idempotency key: repeating the call returns the existing exec\n"
          "  --raw           print control bytes to a terminal unchanged (default: shown as "
          "^X)\n" ASK_OPTIONS,
          "carrel exec demo -- echo hello", cmd_exec },
        { "shell",
          "Open a shell in a sandbox that keeps running; creates the sandbox if it does not exist.",
          "[NAME] [-w DIR]" ASK_USAGE,
          "  NAME            the sandbox (default: the workspace's own)\n"
          "  -w DIR          the workspace (default: this directory)\n" ASK_OPTIONS,
          "carrel shell --help", cmd_shell },
        { "ps", "List the execs of a sandbox, running and kept.", "ID" ASK_USAGE, ASK_OPTIONS,
          "carrel ps demo", cmd_ps },
        { "output", "Show what an exec has written.",
          "ID EXEC [--follow] [--offset N] [--stderr-offset N] [--raw]" ASK_USAGE,
          "  --follow           follow until it ends, and exit with its status\n"
          "  --offset N         standard output from this byte on\n"
          "  --stderr-offset N  standard error from this byte on\n"
          "  --raw              print control bytes to a terminal unchanged (default: shown as "
          "^X)\n" ASK_OPTIONS,
          "carrel output demo 1", cmd_output },
        { "kill", "Kill the whole process tree of an exec, or send it a signal.",
          "ID EXEC [-s SIGNAL]" ASK_USAGE,
          "  -s SIGNAL       send only this signal, to its process group: TERM, INT, "
          "15\n" ASK_OPTIONS,
          "carrel kill demo 1", cmd_kill },
        { "cp", "Copy files and directories into a sandbox and out of it.",
          "FROM TO [-q] [-r]" ASK_USAGE,
          "  FROM, TO        one of them is ID:PATH; the other a path here, or - for standard "
          "input and output\n"
          "  -q              show no progress\n"
          "  -r              accepted for compatibility: directories are always copied "
          "recursively\n" ASK_OPTIONS,
          "carrel cp README.md demo:notes.md", cmd_cp },
        { "extend", "Add to the time a sandbox has left.", "ID T [--key K]" ASK_USAGE,
          "  T               time to add: 30s, 10m, 2h\n"
          "  --key K         idempotency key: repeating the call adds nothing\n" ASK_OPTIONS,
          "carrel extend demo 10m", cmd_extend },
        { "pause", "Pause every process of a sandbox; timers are not reset.", "ID" ASK_USAGE,
          ASK_OPTIONS, "carrel pause demo", cmd_pause },
        { "resume", "Resume a paused sandbox.", "ID" ASK_USAGE, ASK_OPTIONS, "carrel resume demo",
          cmd_resume },
        { "network", "Replace the list of hosts that a sandbox may reach.",
          "ID [--allow HOST...] [--none]" ASK_USAGE,
          "  --allow HOST...  allowed hosts, as in network.egress\n"
          "  --none           allow no host\n" ASK_OPTIONS,
          "carrel network demo --none", cmd_network },
        { "denials", "Show the refused network requests of a sandbox.", "ID" ASK_USAGE, ASK_OPTIONS,
          "carrel denials demo", cmd_denials },
        { "url", "Print the URL of a port of a sandbox.", "ID PORT [--browser]" ASK_USAGE,
          "  --browser       a URL with its own origin, for browsers: pages share no cookies and "
          "storage with other ports\n" ASK_OPTIONS,
          "carrel url demo 3000", cmd_url },
        { "stop", "Stop and delete sandboxes, with all their processes and private files.",
          "ID..." ASK_USAGE, STATE_OPTION "  --json          one JSON object for each ID\n",
          "carrel stop demo", cmd_stop },
        { "events", "Show events of the sandboxes as they happen.", "[ID] [--for T]" ASK_USAGE,
          "  --for T         stop after this time\n" STATE_OPTION
          "  --json          one JSON object a line\n",
          "carrel events --for 100ms", cmd_events },
        { "help", "Show the commands, or one of them.", "[COMMAND]", "", "carrel help check",
          cmd_help },
        { "docs", "Print a section of the reference manual.", "[PART] [--man]",
          "  --man         for a manual page (scdoc); without it, Markdown\n", "carrel docs errors",
          cmd_docs },
        { "schema", "Print the JSON Schema of a manifest, or of a host file.", "[--host]",
          "  --host        of a host file\n", "carrel schema > sandbox.schema.json", cmd_schema },
        { "conformance", "Run a file of conformance cases, and print TAP 14.",
          "CASES.yaml [--json]", "  --json        one JSON object instead of TAP\n",
          "carrel conformance test/conform/aip36.yaml", cmd_conformance },
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

/* Length of an option and its value: up to the two blanks before its help. */
static size_t
option_len(const char *line)
{
        const char *end = strstr(line + 2, "  ");

        return end && end < line + strcspn(line, "\n") ? (size_t)(end - line) : 0;
}

/* A row's own options and those that several rows share, in one column. */
static void
print_options(FILE *out, const char *options)
{
        size_t width = 0;

        (void)fputs("\nOptions:\n", out);
        for (const char *line = options; *line != '\0'; line += strcspn(line, "\n") + 1)
                width = option_len(line) > width ? option_len(line) : width;
        for (const char *line = options; *line != '\0'; line += strcspn(line, "\n") + 1) {
                size_t len = option_len(line), used = len + strspn(line + len, " ");

                if (len > 0)
                        (void)fprintf(out, "%-*.*s  %.*s\n", (int)width, (int)len, line,
                                      (int)strcspn(line + used, "\n"), line + used);
                else
                        (void)fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
        }
}

void
cmd_usage(FILE *out, const char *name)
{
        const struct command *c = command_find(name);

        if (!c)
                return;
        (void)fprintf(out, "%s\n\nUsage: carrel %s%s%s\n", c->help, c->name, *c->usage ? " " : "",
                      c->usage);
        if (*c->options)
                print_options(out, c->options);
        (void)fprintf(out, "\nExample: %s\n", c->example);
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
        (void)fprintf(out, "carrel: runs the commands of an AI agent in a sandbox that a "
                           "SANDBOX.md describes.\n\n"
                           "Usage: carrel COMMAND [ARGUMENTS]\n");
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
                overview_heading(out, commands[i].name);
                (void)fprintf(out, "  %-12s  %s\n", commands[i].name, commands[i].help);
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
                (void)nearest_try(&n, commands[i].name, commands[i].name);
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
                        return "Carrel has no images: a sandbox sees the programs of this machine, "
                               "read-only. `carrel init` writes its SANDBOX.md.";
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
too_many(const char *command, const char *word)
{
        struct error e;

        (void)fail(&e, ERROR_INVALID_ARGUMENT, "%s: unexpected argument \"%.100s\"", command, word);
        error_hint(&e, "`carrel %s --help` shows how it is used.", command);
        return print_failure(NULL, &e, false);
}

int
cmd_help(int argc, char **argv)
{
        if (argc > 2)
                return too_many("help", argv[2]);
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
        if (argc > 1)
                return too_many("version", argv[1]);
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
        if (hold_streams() < 0)
                return 125;
        return printed(dispatch(argc, argv));
}
