/*
 * policy/host_provider.h - the providers that a host knows, and what each of them can enforce.
 *
 * The registry is open: a host file may register its own ids. The six ids of AIP-36 are reserved.
 * The host may say what they can do here, but no other provider may be registered under these ids.
 * One that the host does not mention stays unknown (A36-179). Source: AIP-36 "Provider enumerated
 * set"; AIP-43 (an id is registered once).
 */
#ifndef CARREL_POLICY_HOST_PROVIDER_H
#define CARREL_POLICY_HOST_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/spec.h"
#include "text/tree.h"

enum host_egress {
        HOST_EGRESS_NONE, /* cannot restrict the network: never used, not even with an empty list */
        HOST_EGRESS_CLOSED, /* can block everything, cannot let listed names through */
        HOST_EGRESS_LISTED, /* lets only listed names through */
};

struct host_ability {
        const char *tier; /* "T1" to "T4", or NULL if the host does not say */
        enum host_egress egress;
        bool is_isolated; /* isolates an untrusted manifest from the host */
        bool can_mount, can_pause;
        /* which caps it can enforce; each is a field of struct spec_limits */
        bool caps_time, caps_memory, caps_cpu, caps_millicores, caps_pids, caps_files, caps_io,
                caps_disk, caps_output;
};

/* What the engine of sandboxes elsewhere runs for a provider. Without a program: count 0. */
struct host_program {
        struct spec_names argv;            /* the first word is an absolute path */
        struct spec_names tools;           /* directories that it sees, read-only */
        const struct spec_egress *reaches; /* what it may connect to */
        size_t reach_count;
};

struct host_provider {
        const char *id;
        struct host_ability can;
        struct host_program program;
        const char *lacks; /* why this machine cannot run it, in words; NULL: nothing is known */
};

enum { HOST_PROVIDERS_MAX = 64, HOST_PROVIDER_ID_MAX = 64 };

struct host_providers {
        struct host_provider items[HOST_PROVIDERS_MAX];
        size_t count;
};

/* The provider with exactly this id, or NULL. */
const struct host_provider *host_provider_find(const struct host_providers *p, const char *id);

/* The tier of a sandbox of this provider with the manifest's `config`. NULL: not stated. */
const char *host_provider_tier(const struct host_provider *p, const struct node *config);

/*
 * Registers a host's own id; the text is copied into `arena`. Ids are compared without case.
 * Errors: ERROR_PROVIDER_CONFLICT "enumerated" or "duplicate", ERROR_SCHEMA_INVALID "pattern" (an
 * id is [a-z0-9][a-z0-9-]*, at most 64), ERROR_QUOTA_EXCEEDED past 64 providers, ERROR_NO_MEMORY.
 */
int host_provider_register(struct host_providers *p, struct arena *arena, const char *id,
                           const struct host_ability *can, struct error *e);

/* The same for one of the six reserved ids, which only the host itself may describe. */
int host_provider_describe(struct host_providers *p, struct arena *arena, const char *id,
                           const struct host_ability *can, struct error *e);

/*
 * Reads the abilities of one provider from a host file. A registration lists what the provider
 * lacks: a missing ability counts as present, except isolation, which must be written. `path` is
 * for errors. Errors: ERROR_SCHEMA_INVALID type, enum or unknown_field.
 */
int host_ability_read(struct arena *arena, const struct node *n, const char *path,
                      struct host_ability *ret, struct error *e);

/*
 * Reads program, tools and reaches of one provider, which are no abilities. Errors:
 * ERROR_SCHEMA_INVALID type, pattern or missing (tools and reaches need a program);
 * ERROR_EGRESS_INVALID.
 */
int host_program_read(struct arena *arena, const struct node *n, const char *path,
                      struct host_program *ret, struct error *e);

/*
 * Takes away from `can` what the registration `n` of a provider with a program does not say: there
 * nothing is assumed, and no egress means none. Time and output are this machine's to enforce;
 * mounts are not possible.
 */
void host_program_bound(const struct node *n, struct host_ability *can);

/* Is it a member of a provider that host_program_read() reads? */
bool host_program_has(const char *key);

/*
 * Removes from `can` every ability that `real` does not have: a host file cannot add an ability to
 * a machine.
 */
void host_ability_bound(struct host_ability *can, const struct host_ability *real);

/*
 * What a provider with an engine can do on a machine with the abilities `machine`: its row of
 * spec/provider.h.
 */
struct provider;
struct host_ability host_ability_of(const struct provider *provider,
                                    const struct host_ability *machine);

/*
 * The abilities of `provider` as "isolated", "timeout", ..., one per index, for people and
 * programs. NULL past the end.
 */
const char *host_ability_name(size_t index);
bool host_ability_has(const struct host_ability *can, size_t index);

/* "none", "closed", "listed" */
const char *host_egress_name(enum host_egress egress);

#endif
