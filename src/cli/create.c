/*
 * cli/create.c - `carrel create`: registers a sandbox with the daemon.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/value.h"
#include "clock/clock.h"

struct creating {
        struct ask ask;
        const char *file, *workspace, *name, *runtime, *risk, *metadata, *key;
        uint64_t timeout_ms, delete_after_ms;
        struct option_list env, ports;
        struct override_set overrides;
        bool is_started, is_claimed, is_quiet;
        uint16_t port_numbers[OPTION_LIST_MAX];
};

static int
read_arguments(int argc, char **argv, struct creating *c, struct error *e)
{
        uint64_t port;

        if (ask_parse(&c->ask, &command_create, argc, argv, c, e) < 0)
                return -1;
        for (size_t i = 0; i < c->ports.count; i++) {
                if (value_number_read(VALUE_PORT, (struct value_place){ "create", "-p" },
                                      c->ports.items[i], &port, e) < 0)
                        return -1;
                c->port_numbers[i] = (uint16_t)port;
        }
        return 0;
}

/*
 * Without -f and -w: the current directory if it has a manifest. A sandbox without mounts needs no
 * workspace.
 */
static const char *
workspace_of(const struct creating *c)
{
        if (c->workspace || c->file)
                return c->workspace;
        return ask_has_manifest(".") ? "." : NULL;
}

/* Nothing of a directory is there without a manifest. A template needs none. */
static void
print_unmounted(const struct creating *c, const char *workspace)
{
        if (c->is_quiet || c->ask.is_json || c->file || c->runtime ||
            (workspace && ask_has_manifest(workspace)))
                return;
        (void)fputs("carrel: it mounts nothing, because there is no SANDBOX.md ", stderr);
        if (workspace)
                (void)fputs("in ", stderr);
        print_escaped(stderr, workspace ? workspace : "here", false);
        (void)fputs(" (carrel init", stderr);
        if (workspace)
                (void)fputc(' ', stderr);
        print_escaped(stderr, workspace ? workspace : "", false);
        (void)fputs(" writes one)\n", stderr);
}

static int
create(struct creating *c, const struct carrel_config *config)
{
        struct carrel_sandbox *s = NULL;
        struct carrel_error e;
        int status = ask_open(&c->ask), result;

        if (status != 0)
                return status;
        result = c->is_claimed ? carrel_claim(c->ask.c, config, &s, &e)
                               : carrel_create(c->ask.c, config, &s, &e);
        if (result < 0)
                (void)override_explain(&c->overrides, e.path, e.line, e.message, sizeof e.message);
        if (result < 0)
                return ask_close(&c->ask,
                                 ask_failed(&c->ask, c->file ? c->file : "SANDBOX.md", &e));
        if (c->is_quiet) {
                print_escaped(stdout, s->id, false);
                (void)fputc('\n', stdout);
        } else {
                status = print_sandbox(&c->ask, s);
        }
        if (!c->is_quiet)
                print_sandbox_warnings(&c->ask, s);
        print_unmounted(c, config->workspace);
        carrel_free(s);
        return ask_close(&c->ask, status);
}

static int
cmd_create(int argc, char **argv)
{
        static struct creating c;
        struct carrel_config config;
        struct error e;

        if (read_arguments(argc, argv, &c, &e) < 0)
                return ask_wrong(&c.ask, &e);
        config = (struct carrel_config){ .name = c.name,
                                         .manifest_file = c.file,
                                         .workspace = workspace_of(&c),
                                         .runtime = c.runtime,
                                         .risk = c.risk,
                                         .env = c.env.items,
                                         .env_count = c.env.count,
                                         .ports = c.port_numbers,
                                         .port_count = c.ports.count,
                                         .metadata = c.metadata,
                                         .key = c.key,
                                         .timeout_ms = c.timeout_ms,
                                         .is_started_now = c.is_started,
                                         .overrides = c.overrides.items,
                                         .override_count = c.overrides.count };
        if (c.delete_after_ms > 0)
                config.delete_at_ms = c.delete_after_ms + clock_wall_ms();
        return create(&c, &config);
}

static const struct option options[] = {
        OPTION_TEXT(struct creating, file, VALUE_FILE, "-f", "FILE",
                    "the manifest (default: SANDBOX.md or WORKSPACE.md in the workspace, else no "
                    "network and no mounts)"),
        OPTION_TEXT(struct creating, workspace, VALUE_DIRECTORY, "-w", "DIR",
                    "the workspace (default: the directory of FILE, or this directory if it has a "
                    "manifest)"),
        OPTION_TEXT(struct creating, name, VALUE_TEXT, "--name", "NAME", "unique name"),
        OPTION_NUMBER(struct creating, timeout_ms, VALUE_DURATION, "--timeout", "T",
                      "stop it after this time: 30s, 10m, 2h"),
        OPTION_TEXT(struct creating, runtime, VALUE_RUNTIME, "--runtime", "R",
                    "a template: python3, node24; `carrel info` lists them"),
        OPTION_TEXT(struct creating, risk, VALUE_RISK, "--risk", "low|medium|high",
                    "the risk of the work; refused if the isolation tier is too low for it"),
        OPTION_LIST(struct creating, ports, VALUE_PORT, "-p", "PORT",
                    "declare a port for `carrel url`"),
        OPTION_LIST(struct creating, env, VALUE_VARIABLE, "-e", "NAME=VALUE",
                    "set an environment variable for its commands"),
        OVERRIDE_OPTIONS(struct creating, overrides),
        OPTION_FLAG(struct creating, is_started, "--start", "start it at once"),
        OPTION_FLAG(struct creating, is_claimed, "--claim", "take a ready one from the pool"),
        OPTION_NUMBER(struct creating, delete_after_ms, VALUE_DURATION, "--delete-after", "T",
                      "hard deadline; `extend` cannot move it (default: the daemon's `serve "
                      "--delete-after`)"),
        OPTION_TEXT(struct creating, metadata, VALUE_TEXT, "--metadata", "JSON",
                    "your own data, returned unchanged"),
        OPTION_TEXT(struct creating, key, VALUE_TEXT, "--key", "K",
                    "idempotency key: repeating the call returns the existing sandbox"),
        OPTION_FLAG(struct creating, is_quiet, "-q", "print only the id"),
        ASK_OPTIONS(struct creating, ask),
        OPTION_END,
};

const struct command command_create = {
        .name = "create",
        .help = "Register a sandbox with the daemon; it starts on first use.",
        .options = options,
        .example = "carrel create --name demo --timeout 10m -p 3000",
        .run = cmd_create,
};
