/*
 * policy/choose.c - which provider runs a manifest that says `provider: auto`.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows the costs, tiers and settings of providers. Knows nothing of what they do.
 * Theory: a provider elsewhere, and one that runs a single program, have no cost: a manifest has to
 * name them, because work is not sent to another machine by itself.
 */
#include "policy/choose.h"

#include <string.h>

#include "spec/provider.h"
#include "spec/section.h"

struct choosing {
        struct arena *arena;
        const struct host_rules *rules;
        const struct spec *spec;
        const char *least; /* NULL: every tier is accepted */
        const char *rest;  /* each provider so far, and why not */
};

static const struct node *
setting_of(const struct spec *spec, const char *name)
{
        return spec->config && spec->config->kind == NODE_MAP ? node_find(spec->config, name)
                                                              : NULL;
}

static bool
has_row(const struct field_set *set, const char *name)
{
        for (size_t i = 0; i < set->count; i++)
                if (strcmp(set->rows[i].name, name) == 0)
                        return true;
        return false;
}

static const char *
unknown_setting(const struct choosing *c, const struct field_set *set)
{
        if (!c->spec->config || c->spec->config->kind != NODE_MAP)
                return NULL;
        node_each(setting, c->spec->config)
        {
                if (!has_row(set, setting->key))
                        return setting->key;
        }
        return NULL;
}

/* A setting that the manifest has and the provider does not know, or the other way round. */
static const char *
settings_differ(const struct choosing *c, const struct field_set *set)
{
        const char *unknown = unknown_setting(c, set);

        if (unknown)
                return arena_format(c->arena, "it has no config.%.32s", unknown);
        for (size_t i = 0; i < set->count; i++)
                if ((set->rows[i].flags & FIELD_REQUIRED) &&
                    !setting_of(c->spec, set->rows[i].name))
                        return arena_format(c->arena, "it needs config.%.32s", set->rows[i].name);
        return NULL;
}

/* NULL: it fits. */
static const char *
why_not(const struct choosing *c, const struct provider *p)
{
        const struct host_provider *here = host_provider_find(&c->rules->providers, p->id);
        const char *tier = here ? host_provider_tier(here, c->spec->config) : NULL;

        if (!here)
                return "the host file does not have it";
        if (!provider_reaches(tier, c->least))
                return tier ? arena_format(c->arena, "tier %s", tier) : "it states no tier";
        if (p->config && settings_differ(c, p->config))
                return settings_differ(c, p->config);
        if (here->lacks)
                return here->lacks;
        if (!c->rules->is_trusted && !here->can.is_isolated)
                return "it does not isolate here";
        if (here->can.egress == HOST_EGRESS_NONE ||
            (here->can.egress == HOST_EGRESS_CLOSED && c->spec->egress_count > 0))
                return "it cannot open the network for listed names alone";
        return NULL;
}

/* The next of those that cost more than `cost`, or NULL. */
static const struct provider *
next_after(unsigned cost)
{
        const struct provider *next = NULL;

        for (size_t i = 0; i < provider_count; i++)
                if (providers[i].cost > cost && (!next || providers[i].cost < next->cost))
                        next = &providers[i];
        return next;
}

static void
add_reason(struct choosing *c, const struct provider *p, const char *why)
{
        c->rest = arena_format(c->arena, "%s%s%s: %s", c->rest ? c->rest : "", c->rest ? "; " : "",
                               p->id, why);
}

static const struct provider *
find(struct choosing *c)
{
        const struct provider *p = next_after(0);

        for (const char *why; p && (why = why_not(c, p)) != NULL; p = next_after(p->cost))
                add_reason(c, p, why);
        return p;
}

static int
refuse(const struct choosing *c, struct findings *findings, struct error *e)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", "no_kind",
                      "no provider of this host fits%s%s. %s", c->least ? " and reaches " : "",
                      c->least ? c->least : "", c->rest ? c->rest : "");
        e->line = c->spec->provider_place.line;
        e->column = c->spec->provider_place.column;
        error_hint(e, "Name a provider that `carrel providers` lists to see what it lacks, or "
                      "change what the manifest asks for: docs/KINDS.md.");
        findings_add(findings, e);
        return -1;
}

int
choose_provider(struct arena *arena, const struct host_rules *rules, const struct spec **spec,
                struct findings *findings, struct error *e)
{
        struct choosing c = { .arena = arena, .rules = rules, .spec = *spec };
        const struct provider *found;
        struct spec *chosen;

        if (strcmp((*spec)->provider, PROVIDER_AUTO) != 0)
                return 0;
        c.least = provider_reaches((*spec)->carrel.tier, rules->least_tier) ? (*spec)->carrel.tier
                                                                            : rules->least_tier;
        found = find(&c);
        if (!found)
                return refuse(&c, findings, e);
        chosen = arena_new(arena, struct spec);
        if (!chosen)
                return fail(e, ERROR_NO_MEMORY, "no memory to choose a provider");
        *chosen = **spec;
        chosen->provider = found->id;
        chosen->choice = arena_format(arena, "the cheapest that fits%s%s%s%s%s",
                                      c.least ? " and reaches " : "", c.least ? c.least : "",
                                      c.rest ? " (" : "", c.rest ? c.rest : "", c.rest ? ")" : "");
        *spec = chosen;
        return chosen->choice ? 0 : fail(e, ERROR_NO_MEMORY, "no memory to choose a provider");
}
