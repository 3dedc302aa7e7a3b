/*
 * policy/host_provider.c - the providers that a host knows, and what each can enforce.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows ids and abilities. Knows nothing of the programs that implement a provider.
 * Theory: one table names the yes/no abilities; reading, bounding and printing use it. Egress has
 * three values (none, closed, listed), because a machine without a gate can still close the network
 * completely.
 */
#include "policy/host_provider.h"

#include <string.h>
#include <strings.h>

#include "spec/provider.h"
#include "text/nearest.h"

struct ability_row {
        const char *name;
        size_t offset;   /* of a bool in struct host_ability */
        unsigned bit;    /* enum provider_ability */
        bool is_assumed; /* counts as present if a registration does not mention it */
};

static const struct ability_row abilities[] = {
        { "isolated", offsetof(struct host_ability, is_isolated), PROVIDER_ISOLATES, false },
        { "mounts", offsetof(struct host_ability, can_mount), PROVIDER_MOUNTS, true },
        { "pause", offsetof(struct host_ability, can_pause), PROVIDER_PAUSES, true },
        { "timeout", offsetof(struct host_ability, caps_time), PROVIDER_TIME, true },
        { "memory", offsetof(struct host_ability, caps_memory), PROVIDER_MEMORY, true },
        { "cpu", offsetof(struct host_ability, caps_cpu), PROVIDER_CPU, true },
        { "cpu_millicores", offsetof(struct host_ability, caps_millicores), PROVIDER_MILLICORES,
          true },
        { "pids", offsetof(struct host_ability, caps_pids), PROVIDER_PIDS, true },
        { "open_files", offsetof(struct host_ability, caps_files), PROVIDER_FILES, true },
        { "io", offsetof(struct host_ability, caps_io), PROVIDER_IO, true },
        { "disk", offsetof(struct host_ability, caps_disk), PROVIDER_DISK, true },
        { "output", offsetof(struct host_ability, caps_output), PROVIDER_OUTPUT, true },
};

enum { ABILITY_COUNT = sizeof abilities / sizeof abilities[0] };

static const char *const egress_names[] = { "none", "closed", "listed" };
static const char *const tiers[] = { "T1", "T2", "T3", "T4" };

static bool *
flag_of(struct host_ability *can, size_t row)
{
        return (bool *)(void *)((char *)can + abilities[row].offset);
}

struct host_ability
host_ability_of(const struct provider *provider, const struct host_ability *machine)
{
        struct host_ability can = { .tier = provider->tier, .egress = HOST_EGRESS_CLOSED };
        struct host_ability has = *machine;

        for (size_t i = 0; i < ABILITY_COUNT; i++)
                *flag_of(&can, i) =
                        (provider->has & abilities[i].bit) != 0 ||
                        ((provider->if_host & abilities[i].bit) != 0 && *flag_of(&has, i));
        if ((provider->has & PROVIDER_EGRESS) != 0)
                can.egress = HOST_EGRESS_LISTED;
        else if ((provider->if_host & PROVIDER_EGRESS) != 0)
                can.egress = machine->egress;
        return can;
}

const struct host_provider *
host_provider_find(const struct host_providers *p, const char *id)
{
        for (size_t i = 0; i < p->count; i++)
                if (strcmp(p->items[i].id, id) == 0)
                        return &p->items[i];
        return NULL;
}

const char *
host_provider_tier(const struct host_provider *p, const struct node *config)
{
        const struct provider *known = provider_find(p->id);

        return known && p->can.tier == known->tier ? provider_tier(known, config) : p->can.tier;
}

static bool
id_is_well_formed(const char *id)
{
        size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return len > 0 && len <= HOST_PROVIDER_ID_MAX && id[len] == '\0' && id[0] != '-';
}

static int
add(struct host_providers *p, struct arena *arena, const char *id, const struct host_ability *can,
    struct error *e)
{
        char *copy;

        for (size_t i = 0; i < p->count; i++)
                if (strcasecmp(p->items[i].id, id) == 0)
                        return fail_at(e, ERROR_PROVIDER_CONFLICT, "providers", "duplicate",
                                       "the provider \"%.64s\" is registered already", id);
        if (!id_is_well_formed(id))
                return fail_at(e, ERROR_SCHEMA_INVALID, "providers", "pattern",
                               "\"%.64s\" is no provider id: use lower-case letters, digits and "
                               "\"-\", at most %d",
                               id, HOST_PROVIDER_ID_MAX);
        if (p->count == HOST_PROVIDERS_MAX)
                return fail_at(e, ERROR_QUOTA_EXCEEDED, "providers", "range",
                               "a host has at most %d providers", HOST_PROVIDERS_MAX);
        copy = arena_text(arena, id);
        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the provider \"%.64s\"", id);
        p->items[p->count++] = (struct host_provider){ .id = copy, .can = *can };
        return 0;
}

int
host_provider_register(struct host_providers *p, struct arena *arena, const char *id,
                       const struct host_ability *can, struct error *e)
{
        if (provider_is_reserved(id))
                return fail_at(e, ERROR_PROVIDER_CONFLICT, "providers", "enumerated",
                               "\"%.64s\" is one of the provider ids that AIP-36 reserves", id);
        return add(p, arena, id, can, e);
}

int
host_provider_describe(struct host_providers *p, struct arena *arena, const char *id,
                       const struct host_ability *can, struct error *e)
{
        if (strcmp(id, PROVIDER_AUTO) == 0 || !provider_is_reserved(id) || !id_is_well_formed(id))
                return fail_at(e, ERROR_PROVIDER_CONFLICT, "providers", "enumerated",
                               "\"%.64s\" is none of the provider ids that AIP-36 reserves", id);
        return add(p, arena, id, can, e);
}

static int
read_egress(const struct node *n, const char *path, struct host_ability *ret, struct error *e)
{
        if (n->kind == NODE_BOOL) {
                ret->egress = n->boolean ? HOST_EGRESS_LISTED : HOST_EGRESS_NONE;
                return 0;
        }
        if (node_is_text(n, "closed")) {
                ret->egress = HOST_EGRESS_CLOSED;
                return 0;
        }
        return fail_at(e, ERROR_SCHEMA_INVALID, path, "enum", "egress is true, false or closed");
}

static int
read_tier(struct arena *arena, const struct node *n, const char *path, struct host_ability *ret,
          struct error *e)
{
        for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++)
                if (node_is_text(n, tiers[i])) {
                        ret->tier = tiers[i];
                        return 0;
                }
        (void)arena;
        return fail_at(e, ERROR_SCHEMA_INVALID, path, "enum", "tier is T1, T2, T3 or T4");
}

static int
read_member(struct arena *arena, const struct node *n, const char *path, struct host_ability *ret,
            struct error *e)
{
        struct nearest nearest;

        if (strcmp(n->key, "egress") == 0)
                return read_egress(n, path, ret, e);
        if (strcmp(n->key, "tier") == 0)
                return read_tier(arena, n, path, ret, e);
        for (size_t i = 0; i < ABILITY_COUNT; i++) {
                if (strcmp(abilities[i].name, n->key) != 0)
                        continue;
                if (n->kind != NODE_BOOL)
                        return fail_at(e, ERROR_SCHEMA_INVALID, path, "type", "%s is true or false",
                                       n->key);
                *flag_of(ret, i) = n->boolean;
                return 0;
        }
        (void)fail_at(e, ERROR_SCHEMA_INVALID, path, "unknown_field",
                      "a provider has no ability \"%.64s\"", n->key);
        nearest = nearest_begin(n->key);
        for (size_t i = 0; i < ABILITY_COUNT; i++)
                (void)nearest_try(&nearest, abilities[i].name, abilities[i].name);
        error_hint(e,
                   "%s%s%s`carrel schema --host` prints them, and `carrel providers` shows "
                   "them.",
                   nearest.found ? "Did you mean " : "", nearest.found ? nearest.found : "",
                   nearest.found ? "? " : "");
        return -1;
}

int
host_ability_read(struct arena *arena, const struct node *n, const char *path,
                  struct host_ability *ret, struct error *e)
{
        if (n->kind != NODE_MAP)
                return fail_at(e, ERROR_SCHEMA_INVALID, path, "type",
                               "the abilities of a provider are a map");
        *ret = (struct host_ability){ .egress = HOST_EGRESS_LISTED };
        for (size_t i = 0; i < ABILITY_COUNT; i++)
                *flag_of(ret, i) = abilities[i].is_assumed;
        node_each(member, n)
        {
                if (!host_program_has(member->key) &&
                    read_member(arena, member, path, ret, e) < 0) {
                        e->line = member->key_line;
                        e->column = member->key_column;
                        return -1;
                }
        }
        return 0;
}

void
host_ability_bound(struct host_ability *can, const struct host_ability *real)
{
        struct host_ability limit = *real;

        for (size_t i = 0; i < ABILITY_COUNT; i++)
                *flag_of(can, i) = *flag_of(can, i) && *flag_of(&limit, i);
        if (can->egress > real->egress)
                can->egress = real->egress;
        can->tier = real->tier;
}

const char *
host_ability_name(size_t index)
{
        return index < ABILITY_COUNT ? abilities[index].name : NULL;
}

bool
host_ability_has(const struct host_ability *can, size_t index)
{
        struct host_ability copy = *can;

        return index < ABILITY_COUNT && *flag_of(&copy, index);
}

const char *
host_egress_name(enum host_egress egress)
{
        return egress_names[egress];
}
