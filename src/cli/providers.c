/*
 * cli/providers.c - `carrel providers`: which providers can run a sandbox here, and what each can
 * enforce.
 *
 * Room: cli (joining, program). Touches: fd, the machine's facts.
 * Source: AIP-36 "Security considerations" (hosts document which providers are trusted); case
 * A36-177.
 */
#include <string.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/provider_greeting.h"
#include "host/facts.h"
#include "prepare/host.h"
#include "prepare/host_file.h"
#include "prepare/lacking.h"
#include "spec/provider.h"

enum { PROVIDERS_ARENA_MAX = 16 << 20 };

/* Abilities that are not limits come first in the table: isolated, mounts, pause. */
enum { FIRST_LIMIT = 3 };

/* NULL: this build has an engine for it, and this machine can isolate. */
static const char *
why_not(const struct host_provider *p)
{
        const struct provider *known = provider_find(p->id);

        if (p->program.argv.count > 0 || provider_is_elsewhere(known))
                return provider_greeting_why_not(p);
        if (!known || known->engine == PROVIDER_ENGINE_NONE)
                return "this build has no engine for it";
        if (p->lacks)
                return p->lacks;
        return p->can.is_isolated ? NULL : "this machine cannot isolate: run carrel doctor";
}

static bool
is_available(const struct host_provider *p)
{
        return !why_not(p);
}

static const char *
runtime_class(const struct host_provider *p)
{
        const struct provider *known = provider_find(p->id);

        return known ? known->runtime_class : p->program.argv.count > 0 ? "elsewhere" : NULL;
}

static void
json_provider(struct json_writer *w, const struct host_provider *p, bool is_trusting)
{
        json_open_map(w);
        json_member_text(w, "id", p->id);
        json_member_text(w, "tier", p->can.tier);
        json_member_text(w, "runtime_class", runtime_class(p));
        json_member_bool(w, "available", is_available(p));
        json_member_text(w, "missing", why_not(p));
        json_member_bool(w, "trusted", is_trusting || p->can.is_isolated);
        json_member_text(w, "egress", host_egress_name(p->can.egress));
        for (size_t i = 0; i < FIRST_LIMIT; i++)
                json_member_bool(w, host_ability_name(i), host_ability_has(&p->can, i));
        json_key(w, "limits");
        json_open_map(w);
        for (size_t i = FIRST_LIMIT; host_ability_name(i); i++)
                json_member_bool(w, host_ability_name(i), host_ability_has(&p->can, i));
        json_close_map(w);
        json_close_map(w);
}

static int
print_as_json(const struct host_rules *rules)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        /* lint: rules are there where load() succeeded */
        json_member_text(&w, "trust", rules->is_trusted ? "trusted" : "untrusted");
        json_key(&w, "providers");
        json_open_list(&w);
        for (size_t i = 0; i < rules->providers.count; i++)
                json_provider(&w, &rules->providers.items[i], rules->is_trusted);
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static void
print_abilities(const struct host_provider *p, size_t first, size_t last, bool wanted,
                const char *label)
{
        bool is_first = true;

        for (size_t i = first; i < last && host_ability_name(i); i++) {
                if (host_ability_has(&p->can, i) != wanted)
                        continue;
                (void)printf("%s%s", is_first ? label : ", ", host_ability_name(i));
                is_first = false;
        }
        if (!is_first)
                (void)fputc('\n', stdout);
}

/* A container of a runtime has the host's own root without an image. */
static const char *
tier_note(const struct host_provider *p)
{
        const struct provider *known = provider_find(p->id);

        return known && known->tier && strcmp(provider_tier(known, NULL), known->tier) != 0
                       ? " on an image"
                       : "";
}

static int
print_as_text(const struct host_rules *rules)
{
        /* lint: rules are there where load() succeeded */
        const char *trust = rules->is_trusted ? "trusted" : "not trusted";

        (void)printf("Manifests are %s on this host.\n", trust);
        for (size_t i = 0; i < rules->providers.count; i++) {
                const struct host_provider *p = &rules->providers.items[i];

                (void)printf("\n%s  (tier %s%s, egress %s%s)\n", p->id,
                             p->can.tier ? p->can.tier : "not stated", tier_note(p),
                             host_egress_name(p->can.egress),
                             rules->is_trusted || p->can.is_isolated
                                     ? ""
                                     : "; refused, because it does not isolate");
                if (!is_available(p))
                        (void)printf("  not available:  %s\n", why_not(p));
                if (p->program.argv.count > 0) {
                        (void)printf("  program:       ");
                        for (size_t n = 0; n < p->program.argv.count; n++) {
                                (void)fputc(' ', stdout);
                                print_escaped(stdout, p->program.argv.items[n], false);
                        }
                        (void)fputc('\n', stdout);
                }
                print_abilities(p, 0, FIRST_LIMIT, true, "  can:            ");
                print_abilities(p, FIRST_LIMIT, SIZE_MAX, true, "  enforces:       ");
                print_abilities(p, FIRST_LIMIT, SIZE_MAX, false, "  cannot enforce: ");
        }
        if (rules->providers.count == 0)
                (void)printf("No provider is registered.\n");
        return 0;
}

static int
load(struct arena *arena, const char *host_name, struct host_file *ret, struct error *e)
{
        struct host_facts *facts = arena_new(arena, struct host_facts);
        struct host_ability real;

        if (!facts)
                return fail(e, ERROR_NO_MEMORY, "no memory for the facts of this machine");
        if (host_facts_read(facts, e) < 0)
                return -1;
        real = prepare_local_ability(facts, false);
        if (host_file_load(arena, host_name, &real, HOST_FILE_BOUND, NULL, ret, e) < 0)
                return -1;
        lacking_note(facts, ret->rules);
        return 0;
}

struct asked {
        const char *host_name;
        bool is_json;
};

static int
cmd_providers(int argc, char **argv)
{
        struct asked a = { .host_name = NULL };
        struct words words;
        struct host_file host = { .rules = NULL };
        struct arena arena;
        struct error e;
        int status;

        if (options_read(&command_providers, argc, argv, &a, &words, &e) < 0)
                return print_failure(NULL, &e, a.is_json);
        arena_init(&arena, PROVIDERS_ARENA_MAX);
        if (load(&arena, a.host_name, &host, &e) < 0)
                status = print_failure(host.name, &e, a.is_json);
        else
                status = a.is_json ? print_as_json(host.rules) : print_as_text(host.rules);
        arena_fini(&arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct asked, host_name, VALUE_FILE, "--host", "FILE", HOST_FILE_DOC),
        OPTION_FLAG(struct asked, is_json, "--json", JSON_DOC),
        OPTION_END,
};

const struct command command_providers = {
        .name = "providers",
        .help = "List the providers of this host and what each can enforce.",
        .options = options,
        .example = "carrel providers --json",
        .run = cmd_providers,
};
