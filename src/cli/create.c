/*
 * cli/create.c - `carrel create`: registers a sandbox with the daemon.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/override.h"
#include "cli/value.h"
#include "clock/clock.h"

struct creating {
        struct ask ask;
        const char *file, *workspace, *name, *timeout, *runtime, *metadata, *key, *delete_after;
        struct option_list env, ports, values[5];
        struct override_set overrides;
        bool is_started, is_claimed, is_quiet;
        uint16_t port_numbers[OPTION_LIST_MAX];
};

static int
read_arguments(int argc, char **argv, struct creating *c, struct error *e)
{
        const struct option_row rows[] = {
                ASK_ROWS(&c->ask),
                { "-f", &c->file, NULL },
                { "-w", &c->workspace, NULL },
                { "--name", &c->name, NULL },
                { "--timeout", &c->timeout, NULL },
                { "--delete-after", &c->delete_after, NULL },
                { "--runtime", &c->runtime, NULL },
                { "--metadata", &c->metadata, NULL },
                { "--key", &c->key, NULL },
                { "-e", NULL, NULL, &c->env },
                { "-p", NULL, NULL, &c->ports },
                { "--memory", NULL, NULL, &c->values[0] },
                { "--disk", NULL, NULL, &c->values[1] },
                { "--pids", NULL, NULL, &c->values[2] },
                { "--allow", NULL, NULL, &c->values[3] },
                { "-v", NULL, NULL, &c->values[4] },
                { "--start", NULL, &c->is_started },
                { "--claim", NULL, &c->is_claimed },
                { "-q", NULL, &c->is_quiet },
        };
        static const char *const overrides[] = { "--memory", "--disk", "--pids", "--allow", "-v" };
        uint64_t port;

        if (ask_read(&c->ask, argc, argv, rows, sizeof rows / sizeof *rows, 0, 0, "", e) < 0)
                return -1;
        for (size_t i = 0; i < c->env.count; i++)
                if (value_variable_check((struct value_place){ "create", "-e" }, c->env.items[i],
                                         e) < 0)
                        return -1;
        for (size_t v = 0; v < sizeof c->values / sizeof *c->values; v++)
                for (size_t i = 0; i < c->values[v].count; i++)
                        if (override_add(&c->overrides, "create", overrides[v],
                                         c->values[v].items[i], e) < 0)
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
        return access("SANDBOX.md", F_OK) == 0 || access("WORKSPACE.md", F_OK) == 0 ? "." : NULL;
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
        carrel_free(s);
        return ask_close(&c->ask, status);
}

int
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
                                         .env = c.env.items,
                                         .env_count = c.env.count,
                                         .ports = c.port_numbers,
                                         .port_count = c.ports.count,
                                         .metadata = c.metadata,
                                         .key = c.key,
                                         .is_started_now = c.is_started,
                                         .overrides = c.overrides.items,
                                         .override_count = c.overrides.count };
        if (value_duration_read((struct value_place){ "create", "--timeout" }, c.timeout,
                                &config.timeout_ms, &e) < 0 ||
            value_duration_read((struct value_place){ "create", "--delete-after" }, c.delete_after,
                                &config.delete_at_ms, &e) < 0)
                return ask_wrong(&c.ask, &e);
        if (c.delete_after)
                config.delete_at_ms += clock_wall_ms();
        return create(&c, &config);
}
