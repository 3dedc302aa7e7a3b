/*
 * policy/host_rules.h - what this host permits, as data: the other side of every judgment.
 *
 * Read from a host file (YAML or JSON, one map; its fields are the rows of host_fields.def), or the defaults of a machine that has none. Everything
 * lives in the arena it was read into and is not changed once judging begins.
 */
#ifndef CARREL_POLICY_HOST_RULES_H
#define CARREL_POLICY_HOST_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/grant.h"
#include "policy/host_limits.h"
#include "policy/host_provider.h"
#include "policy/host_secret.h"
#include "spec/spec.h"
#include "text/tree.h"

struct host_mountable {
        const char *ref;
        bool is_ambiguous;                              /* a workspace and a storage both have this name */
        bool is_read_only;
        const char *path;                               /* absolute host directory, or NULL */
};

struct host_policy { const char *ref; const struct node *body; };

struct host_rules {
        bool is_trusted;
        const char *principal;
        struct host_providers providers;
        bool has_egress_list;
        const struct spec_egress *egress_allowed;  size_t egress_allowed_count;
        const struct spec_egress *private_names;  size_t private_name_count;
        const struct spec_egress *host_ports;  size_t host_port_count;   /* of this machine's loopback: egress_host_port() */
        struct spec_names resolvers, networks;          /* "address:port"; "network/bits", denied with "!" before it; each was read once and is good */
        struct spec_egress_caps egress_caps;            /* SPEC_UNSET: none */
        struct host_limits limits;
        struct spec_names passthrough_allow;
        bool has_workspace, storage_is_read_only;
        const struct host_inventory *inventories;  size_t inventory_count;
        const char *secrets_file;                       /* NULL: none */
        struct host_sources sources;                    /* of secrets' values */
        const struct host_actor *actors;  size_t actor_count;
        const char *actor;                              /* who wants secrets bound; NULL: the principal, whose rules these are */
        const struct host_mountable *mountables;  size_t mountable_count;
        struct spec_names mount_roots, tool_roots;
        const struct host_policy *policies;  size_t policy_count;
        const char *allow;                              /* the command that adds a permission ("carrel allow"); NULL: there is none */
        struct grant_usage usage;                       /* for AIP-38 limits; unknown unless somebody counts */
};

/* Where tools may come from on a machine that says nothing of it. */
extern const struct spec_names host_tool_roots;

/*
 * The rules of a machine without a host file: manifests are untrusted, `local` is the one provider with the
 * abilities given, tools may come from /opt, /usr/local and /nix/store, nothing else is permitted.
 * `principal` is copied. Errors: ERROR_NO_MEMORY.
 */
int host_rules_default(struct arena *arena, const struct host_ability *local, const char *principal,
                       struct host_rules **ret, struct error *e);

/*
 * Reads a host file's tree; borrows it for as long as the rules live. Where it names no principal, `principal` is.
 * Errors: ERROR_SCHEMA_INVALID (closed set of fields, with path and place), ERROR_PROVIDER_CONFLICT,
 * ERROR_EGRESS_INVALID, ERROR_NO_MEMORY.
 */
int host_rules_read(struct arena *arena, const struct node *root, const char *principal, struct host_rules **ret,
                    struct error *e);

/* Is it "192.0.2.1:53" or "[2001:db8::1]:53", as `resolvers` has them? */
bool host_resolver_check(const char *text);

/* Takes away from the provider `id`, if it is registered, what the machine cannot do. */
void host_rules_bound(struct host_rules *rules, const char *id, const struct host_ability *real);

/*
 * Puts in what a SECRETS.md declares. Where the host file speaks of the same ref, its reveal, bindings and
 * deny_bind stay in force and the slugs are the file's. Errors: ERROR_NO_MEMORY.
 */
int host_rules_add_inventory(struct arena *arena, struct host_rules *rules, const struct host_inventory *inventory,
                             struct error *e);

const struct host_inventory *host_rules_inventory(const struct host_rules *rules, const char *ref);

/* Who asks, for host_secret_granted(). */
struct host_asking host_rules_asking(const struct host_rules *rules);
const struct host_mountable *host_rules_mountable(const struct host_rules *rules, const char *ref);

/* The slug an environment name stands for: the binding, else lower-case with "-" for "_". In `arena`; NULL
 * without memory. Source: AIP-19. */
const char *host_inventory_slug(const struct host_inventory *inventory, struct arena *arena, const char *name);

/* Does this list hold the text? */
bool host_names_have(const struct spec_names *names, const char *text);

/* Is the absolute, normal path equal to one of the roots or below it? Words only: who opens it must still do so
 * by handles. A path with "..", "." or "//" in it is never below anything. */
bool host_path_is_below(const struct spec_names *roots, const char *path);

/*
 * The host directory behind a mount that authorise() let pass: absolute, or relative to the workspace for inline
 * storage that says so; "." for the workspace itself; NULL where the host gave no directory.
 */
const char *host_mount_path(const struct host_rules *rules, const struct spec_mount *mount);

#endif
