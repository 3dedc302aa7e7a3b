/*
 * cli/shell.c - `carrel shell`: a shell on this terminal, in a sandbox that stays.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the environment (SHELL); names of
 * directories (reading only).
 * Knows the name of a workspace's own sandbox. Knows nothing of terminals: that is `carrel exec
 * -t`.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"

enum { NAME_ROOM = 64, NAME_PART = 40 };

struct shell {
        struct ask ask;
        const char *workspace; /* -w, or NULL */
        char path[PATH_MAX];   /* the workspace's real path */
        char own[NAME_ROOM];   /* the name of its own sandbox */
};

/*
 * "carrel-3f0a91c2": the last component of the path, as far as a name permits, and a hash of the
 * whole path (FNV-1a).
 */
static void
name_workspace(const char *path, char ret[NAME_ROOM])
{
        const char *slash = strrchr(path, '/');
        uint32_t sum = 2166136261u;
        size_t len = 0;

        for (const char *c = slash ? slash + 1 : path; *c != '\0' && len < NAME_PART; c++) {
                char lower = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
                bool is_kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');

                if (is_kept || len > 0)
                        ret[len++] = is_kept ? lower : '-';
        }
        for (const unsigned char *c = (const unsigned char *)path; *c != '\0'; c++)
                sum = (sum ^ *c) * 16777619u;
        (void)snprintf(ret + len, NAME_ROOM - len, "%s%08x", len > 0 ? "-" : "workspace-",
                       (unsigned)sum);
}

static int
find_workspace(struct shell *s, struct error *e)
{
        if (!realpath(s->workspace ? s->workspace : ".", s->path))
                return fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "the workspace %.200s",
                                s->workspace ? s->workspace : ".");
        name_workspace(s->path, s->own);
        return 0;
}

/* Creates it as `carrel create` would here. */
static int
create(struct shell *s, const char *name)
{
        bool is_mounted = s->workspace || ask_has_manifest(s->path);
        struct carrel_config config = { .name = name, .workspace = is_mounted ? s->path : NULL };
        struct carrel_sandbox *made;
        struct carrel_error e;

        if (carrel_create(s->ask.c, &config, &made, &e) < 0)
                return ask_failed(&s->ask, "SANDBOX.md", &e);
        print_sandbox_warnings(&s->ask, made);
        (void)fprintf(stderr, "carrel: created the sandbox %s%s. It stays until: carrel stop %s\n",
                      name,
                      is_mounted ? ""
                                 : ", which mounts nothing because there is no SANDBOX.md here "
                                   "(carrel init writes one)",
                      name);
        carrel_free(made);
        return 0;
}

static int
find_or_create(struct shell *s, const char *name)
{
        struct carrel_sandbox *found = NULL;
        struct carrel_error e;
        int status = ask_open(&s->ask);

        if (status != 0)
                return status;
        if (carrel_get(s->ask.c, name, &found, &e) < 0)
                status = ask_failed(&s->ask, NULL, &e);
        else if (!found)
                status = create(s, name);
        carrel_free(found);
        return ask_close(&s->ask, status);
}

/* The user's own shell, if every sandbox shows that program. */
static const char *
users_shell(void)
{
        const char *shell = getenv("SHELL");

        if (shell && (strncmp(shell, "/bin/", 5) == 0 || strncmp(shell, "/usr/bin/", 9) == 0) &&
            access(shell, X_OK) == 0)
                return shell;
        return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
}

static int
enter(const struct shell *s, const char *name)
{
        const char *words[9] = { "exec", "-t" };
        int count = 2;

        if (s->ask.state) {
                words[count++] = "--state";
                words[count++] = s->ask.state;
        }
        words[count++] = name;
        words[count++] = "--";
        words[count++] = users_shell();
        words[count] = NULL;
        return command_exec.run(count, (char **)(uintptr_t)words);
}

static int
cmd_shell(int argc, char **argv)
{
        static struct shell s;
        struct error e;
        const char *name;
        int status;

        if (ask_parse(&s.ask, &command_shell, argc, argv, &s, &e) < 0 || find_workspace(&s, &e) < 0)
                return ask_wrong(&s.ask, &e);
        if (!isatty(STDIN_FILENO)) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT,
                           "shell needs a terminal, but standard input is not one");
                error_hint(&e, "Run a command without one: carrel exec NAME -- COMMAND, or carrel "
                               "run -- COMMAND.");
                return ask_wrong(&s.ask, &e);
        }
        name = s.ask.word_count > 0 ? s.ask.words[0] : s.own;
        status = find_or_create(&s, name);
        return status != 0 ? status : enter(&s, name);
}

static const struct option options[] = {
        OPTION_TEXT(struct shell, workspace, VALUE_DIRECTORY, "-w", "DIR",
                    "the workspace (default: this directory)"),
        ASK_OPTIONS(struct shell, ask),
        OPTION_END,
};

static const struct operand operands[] = {
        { "[NAME]", VALUE_SANDBOX, "the sandbox (default: the workspace's own)" },
        { NULL },
};

const struct command command_shell = {
        .name = "shell",
        .help = "Open a shell in a sandbox that keeps running; creates the sandbox if it does not "
                "exist.",
        .options = options,
        .operands = operands,
        .example = "carrel shell --help",
        .run = cmd_shell,
};
