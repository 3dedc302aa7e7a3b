/*
 * prepare/elsewhere.c - the sandbox of a provider's program, and what the program is asked for.
 *
 * Room: prepare (joining). Touches: mem.
 * Theory: the program is foreign code, so it runs as a command would, in a sandbox whose lists are
 * the operator's. The manifest's own lists are for the sandbox elsewhere: they are sent, not used.
 */
#include "prepare/elsewhere.h"

#include <stdlib.h>
#include <string.h>

#include "base/switches.h"
#include "bridge/ability.h"
#include "plan/request.h"
#include "text/json.h"

enum { PROGRAM_MEMORY_MB = 1024, PROGRAM_PIDS = 512 };

static const struct limit {
        const char *name;
        size_t offset;
} limits[] = {
        { "timeout_ms", offsetof(struct spec_limits, timeout_ms) },
        { "memory_mb", offsetof(struct spec_limits, memory_mb) },
        { "cpu_ms", offsetof(struct spec_limits, cpu_ms) },
        { "cpu_millicores", offsetof(struct spec_limits, cpu_millicores) },
        { "pids", offsetof(struct spec_limits, pids) },
        { "open_files", offsetof(struct spec_limits, open_files) },
        { "io_read_bps", offsetof(struct spec_limits, io_read_bps) },
        { "io_write_bps", offsetof(struct spec_limits, io_write_bps) },
        { "disk_mb", offsetof(struct spec_limits, disk_mb) },
};

static const struct host_provider *
provider_of(const struct spec *spec, const struct host_rules *rules)
{
        const struct host_provider *found = host_provider_find(&rules->providers, spec->provider);

        return found && found->program.argv.count > 0 ? found : NULL;
}

/* A setting that names one of the provider's own secrets, whose value goes to its program alone. */
static bool
is_reference(const struct node *setting)
{
        size_t len = strlen(setting->key);

        return setting->kind == NODE_STRING && len > 4 &&
               strcmp(setting->key + len - 4, "_ref") == 0;
}

/* -- what it is asked for ---------------------------------------------------------------------- */

static void
write_limits(struct json_writer *w, const struct spec_limits *asked)
{
        json_key(w, "limits");
        json_open_map(w);
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
                uint64_t value;

                memcpy(&value, (const char *)asked + limits[i].offset, sizeof value);
                if (value != SPEC_UNSET)
                        json_member_int(w, limits[i].name, (int64_t)value);
        }
        json_close_map(w);
}

static void
write_create(struct json_writer *w, const struct spec *asked)
{
        char text[EGRESS_TEXT_ROOM];

        json_open_map(w);
        json_key(w, "config");
        json_open_map(w);
        for (const struct node *n =
                     asked->config && asked->config->kind == NODE_MAP ? asked->config->first : NULL;
             n; n = n->next) {
                if (is_reference(n))
                        continue;
                json_key(w, n->key);
                json_node(w, n);
        }
        json_close_map(w);
        write_limits(w, &asked->limits);
        json_key(w, "egress");
        json_open_list(w);
        for (size_t i = 0; i < asked->egress_count; i++)
                json_text(w, egress_text(&asked->egress[i], text));
        json_close_list(w);
        json_close_map(w);
}

/* What the host file says that it can, its greeting must say too. */
uint32_t
elsewhere_needs(const struct host_ability *can)
{
        uint32_t needs = can->egress == HOST_EGRESS_LISTED ? 1u << BRIDGE_CAN_EGRESS : 0;
        const char *name;

        for (size_t i = 0; (name = host_ability_name(i)) != NULL; i++) {
                enum bridge_ability found = bridge_ability_find(name);

                if (host_ability_has(can, i) && found != BRIDGE_ABILITIES)
                        needs |= 1u << found;
        }
        return needs;
}

static void
write_needs(struct json_writer *w, uint32_t needs)
{
        json_key(w, "needs");
        json_open_list(w);
        for (int i = 0; i < BRIDGE_ABILITIES; i++)
                if ((needs & 1u << i) != 0)
                        json_text(w, bridge_ability_word((enum bridge_ability)i));
        json_close_list(w);
}

static const char *
write_text(struct arena *arena, const struct host_provider *provider, const struct spec *asked)
{
        struct json_writer w;
        const char *text;

        json_init(&w, false);
        json_open_map(&w);
        json_key(&w, "program");
        json_open_list(&w);
        for (size_t i = 0; i < provider->program.argv.count; i++)
                json_text(&w, provider->program.argv.items[i]);
        json_close_list(&w);
        write_needs(&w, elsewhere_needs(&provider->can));
        json_key(&w, "create");
        write_create(&w, asked);
#ifdef CARREL_TEST_SWITCHES
        if (getenv("CARREL_TEST_BRIDGE_OFF"))
                json_member_text(&w, "off", getenv("CARREL_TEST_BRIDGE_OFF"));
#endif
        json_close_map(&w);
        text = w.is_broken ? NULL : arena_copy(arena, w.text, w.len);
        json_fini(&w);
        return text;
}

/* -- its sandbox ------------------------------------------------------------------------------- */

/* The provider's own secret, beside those of the sandbox: under a name that commands do not get. */
static int
add_key(struct arena *arena, struct spec *spec, struct error *e)
{
        const struct node *config = spec->config;
        struct spec_secret_name *names =
                arena_array(arena, struct spec_secret_name, spec->env.auth_count + 1);

        if (!names)
                return fail(e, ERROR_NO_MEMORY, "no memory for the sandbox of a provider");
        if (spec->env.auth_count > 0)
                memcpy(names, spec->env.auth, spec->env.auth_count * sizeof *names);
        for (const struct node *n = config && config->kind == NODE_MAP ? config->first : NULL; n;
             n = n->next)
                if (is_reference(n)) {
                        names[spec->env.auth_count++] = (struct spec_secret_name){
                                PLAN_BRIDGE_KEY, { n->line, n->column }, n->text
                        };
                        break;
                }
        spec->env.auth = names;
        return 0;
}

static void
take_program(struct spec *spec, const struct host_program *program)
{
        const struct spec_limits *asked = &spec->limits;

        spec->egress = program->reaches;
        spec->egress_count = program->reach_count;
        spec->wall = (struct spec_wall){ false, false };
        spec->mounts = NULL;
        spec->mount_count = 0;
        spec->cwd = NULL;
        spec->carrel.home = NULL;
        spec->carrel.disk = SPEC_DISK_AUTO;
        spec->carrel.unix_sockets = SPEC_UNIX_ON;
        spec->carrel.tools = program->tools;
        spec->limits = (struct spec_limits){ .timeout_ms = asked->timeout_ms,
                                             .memory_mb = PROGRAM_MEMORY_MB,
                                             .cpu_ms = SPEC_UNSET,
                                             .cpu_millicores = SPEC_UNSET,
                                             .pids = PROGRAM_PIDS,
                                             .open_files = SPEC_UNSET,
                                             .io_read_bps = SPEC_UNSET,
                                             .io_write_bps = SPEC_UNSET,
                                             .disk_mb = SPEC_UNSET,
                                             .output_bytes = asked->output_bytes,
                                             .is_timeout_given = asked->is_timeout_given,
                                             .timeout_max_ms = asked->timeout_max_ms };
}

int
elsewhere_take(struct arena *arena, const struct spec **spec, const struct host_rules **rules,
               const char **ret_text, struct error *e)
{
        const struct host_provider *provider = provider_of(*spec, *rules);
        struct host_rules *permitted;
        struct spec *program;

        *ret_text = NULL;
        if (!provider)
                return 0;
        program = arena_new(arena, struct spec);
        permitted = arena_new(arena, struct host_rules);
        *ret_text = write_text(arena, provider, *spec);
        if (!program || !permitted || !*ret_text)
                return fail(e, ERROR_NO_MEMORY, "no memory for the sandbox of a provider");
        *program = **spec;
        *permitted = **rules;
        take_program(program, &provider->program);
        permitted->tool_roots = provider->program.tools;
        *spec = program;
        *rules = permitted;
        return add_key(arena, program, e);
}
