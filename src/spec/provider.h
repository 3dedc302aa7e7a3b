/*
 * spec/provider.h - the providers that this build knows: the one table of all facts about them.
 *
 * A row has the id, the settings, the tier, which abilities the provider has by itself and which it
 * has only if this machine has them (policy/host_provider.h), what `carrel doctor` tries for it,
 * and the engine that runs it. What acts for an engine is chosen by its number: the plan in
 * prepare/prepare.c, the calls in maker/spawner.c. Six ids are reserved by AIP-36, the others by
 * this build.
 *
 * The namespace is open: a host may register more ids, and it defines their settings. A reserved id
 * cannot be registered, in any letter case.
 */
#ifndef CARREL_SPEC_PROVIDER_H
#define CARREL_SPEC_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "text/tree.h"

struct field_set;

/* The OCI runtime with a kernel of its own: gVisor. */
#define PROVIDER_RUNSC "runsc"

/* The provider that messages suggest. */
#define PROVIDER_STANDARD "local"

/*
 * A word of a manifest in place of a provider, and what holds without a manifest: policy/choose.h
 * chooses one. AIP-36 leaves ids other than its six to the host; this one is never registered.
 */
#define PROVIDER_AUTO "auto"

/* In messages between processes (wire/box.h): numbers are never used again. */
enum provider_engine {
        PROVIDER_ENGINE_NS,      /* box/ns */
        PROVIDER_ENGINE_FAKE,    /* box/fake; in test builds only */
        PROVIDER_ENGINE_NONE,    /* such a manifest is checked, and not run */
        PROVIDER_ENGINE_OCI,     /* box/ns, with a relay in the place of pid 1 */
        PROVIDER_ENGINE_BRIDGE,  /* box/bridge: a program that the host file names */
        PROVIDER_ENGINE_MACHINE, /* box/ns, with a relay and QEMU */
        PROVIDER_ENGINE_MAX
};

enum provider_ability {
        PROVIDER_ISOLATES = 1u << 0,
        PROVIDER_MOUNTS = 1u << 1,
        PROVIDER_PAUSES = 1u << 2,
        PROVIDER_TIME = 1u << 3, /* from here on: caps that it can enforce */
        PROVIDER_MEMORY = 1u << 4,
        PROVIDER_CPU = 1u << 5,
        PROVIDER_MILLICORES = 1u << 6,
        PROVIDER_PIDS = 1u << 7,
        PROVIDER_FILES = 1u << 8,
        PROVIDER_IO = 1u << 9,
        PROVIDER_DISK = 1u << 10,
        PROVIDER_OUTPUT = 1u << 11,
        PROVIDER_EGRESS = 1u << 12, /* lets only listed names through; without it: closed */
};

/* What depends on a mechanism of the machine (host/try.h). */
enum provider_need {
        PROVIDER_NEED_TIER,  /* required: without it no sandbox starts (fail closed) */
        PROVIDER_NEED_LIMIT, /* without it a limit only warns, by name */
        PROVIDER_NEED_EXTRA, /* optional: without it one feature refuses, or a fallback is used */
        PROVIDER_NEED_MAX
};

struct provider {
        const char *id;
        const struct field_set *config; /* NULL: any map */
        const char *destroy_on;         /* default of lifecycle.destroy_on; NULL: never */
        const char *help;
        enum provider_engine engine;
        const char *tier;          /* "T1" to "T4"; NULL: not known */
        const char *runtime_class; /* the mechanism of its isolation, in one word; or NULL */
        unsigned has, if_host;     /* enum provider_ability: always; if this machine has it */
        bool runs_once;            /* its engine also serves `carrel run`: a box of one command */
        /* names of mechanisms, each ended by NULL; without any, `carrel doctor` tries nothing */
        const char *const *tries[PROVIDER_NEED_MAX];
        /* its commands are this program's, under the program's permission model; NULL: any */
        const char *interpreter;
        unsigned cost;  /* the order in which `auto` tries them; 0: only if a manifest names it */
        bool is_routed; /* every port inside is free, whatever network.egress lists */
};

extern const char *const provider_tiers[]; /* weakest first; ended by NULL */
extern const struct provider providers[];
extern const size_t provider_count;

/*
 * The tier of a sandbox with this `config` of the manifest, and the mechanism of its isolation: an
 * OCI runtime has the tier of the table on an image only. NULL: not known.
 */
const char *provider_tier(const struct provider *p, const struct node *config);
const char *provider_class(const struct provider *p, const struct node *config);

/* Has it a setting that a manifest must have? Otherwise it runs with config: {}. */
bool provider_needs_config(const struct provider *p);

/* The reserved provider with exactly this id, or NULL. */
const struct provider *provider_find(const char *id);

/* The id of the provider whose sandboxes are virtual machines of this host. */
const char *provider_of_machines(void);

/* Does a provider's program make its sandboxes (docs/BRIDGE.md)? NULL: no. */
bool provider_is_elsewhere(const struct provider *provider);

/* Is `tier` at least `least`? No tier (NULL) reaches none but NULL. */
bool provider_reaches(const char *tier, const char *least);

/* Is this id reserved, ignoring case? */
bool provider_is_reserved(const char *id);

/* Has it the form of an id: lower-case letters, digits and "-", at most 63 characters? */
bool provider_id_check(const char *id);

#endif
