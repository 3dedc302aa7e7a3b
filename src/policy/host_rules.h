/*
 * policy/host_rules.h - what this host permits, as data for every check.
 *
 * Read from a host file (YAML or JSON, one map; its fields are the rows of host_fields.def), or the
 * defaults of a machine without one. Everything lives in the arena it was read into and does not
 * change once judging begins.
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
        bool is_ambiguous; /* a workspace and a storage both have this name */
        bool is_read_only;
        const char *path; /* absolute host directory, or NULL */
};

struct host_policy {
        const char *ref;
        const struct node *body;
};

struct host_rules {
        bool is_trusted;
        bool audits_run;         /* each `carrel run` is recorded */
        bool keeps_content;      /* of recorded commands: what they read and write */
        bool ignores_files;      /* files that commands change there are not recorded */
        bool ignores_executions; /* executions in the daemon's sandboxes are not recorded */
        bool needs_risk;         /* a sandbox is created only for a stated risk */
        uint32_t redact_off;     /* groups of rules that remove nothing: bits of redact_group */
        unsigned sanitize;       /* removed from output: a mask of text/sanitize.h */
        uint64_t audit_keep_ms;  /* how long audit logs are kept; 0: forever */
        const char *principal;
        const char *least_tier; /* of every sandbox, beside the manifest's own; or NULL */
        struct host_providers providers;
        bool has_egress_list;
        const struct spec_egress *egress_allowed;
        size_t egress_allowed_count;
        const struct spec_egress *private_names;
        size_t private_name_count;
        /* loopback ports of this machine: egress_host_port() */
        const struct spec_egress *host_ports;
        size_t host_port_count;
        /* "address:port"; "network/bits", with "!" before a denied one; all are already checked */
        struct spec_names resolvers, networks;
        struct spec_egress_caps egress_caps; /* SPEC_UNSET: none */
        struct host_limits limits;
        struct spec_names passthrough_allow;
        bool has_workspace, storage_is_read_only;
        const struct host_inventory *inventories;
        size_t inventory_count;
        const char *secrets_file;    /* NULL: none */
        const char *machine_kernel;  /* of virtual machines, absolute; NULL: the newest of /boot */
        struct host_sources sources; /* where the values of secrets come from */
        const struct host_actor *actors;
        size_t actor_count;
        /* the user that secrets are bound for; NULL: the principal, whose rules these are */
        const char *actor;
        const struct host_mountable *mountables;
        size_t mountable_count;
        struct spec_names mount_roots, tool_roots;
        struct spec_names approve; /* operations that wait for a person: spec/approve.h */
        const struct host_policy *policies;
        size_t policy_count;
        const struct node *commands; /* rules for commands; or NULL */
        const char *allow; /* the command that adds a permission ("carrel allow"); NULL: none */
        struct grant_usage usage; /* for AIP-38 limits; unknown unless a caller counts */
};

/* Default tool roots of a machine whose host file names none. */
extern const struct spec_names host_tool_roots;

/*
 * Rules that permit nothing and limit nothing, to be filled in. `principal` is copied. NULL without
 * memory.
 */
struct host_rules *host_rules_new(struct arena *arena, const char *principal);

/*
 * The rules of a machine without a host file: manifests are untrusted, the standard provider is
 * the only one, `machine` is what this machine can enforce, tools may come from /opt, /usr/local
 * and /nix/store, nothing else is permitted. `principal` is copied. Errors: ERROR_NO_MEMORY.
 */
int host_rules_default(struct arena *arena, const struct host_ability *machine,
                       const char *principal, struct host_rules **ret, struct error *e);

/*
 * Reads a host file's tree; borrows it for as long as the rules live. `principal` is used if the
 * file names none. Errors: ERROR_SCHEMA_INVALID (closed set of fields, with path and place),
 * ERROR_PROVIDER_CONFLICT, ERROR_EGRESS_INVALID, ERROR_NO_MEMORY.
 */
int host_rules_read(struct arena *arena, const struct node *root, const char *principal,
                    struct host_rules **ret, struct error *e);

/* Is it "192.0.2.1:53" or "[2001:db8::1]:53", the form of `resolvers`? */
bool host_resolver_check(const char *text);

/*
 * Removes from each registered provider that has an engine here the abilities that it does not have
 * on this machine (host_ability_of()).
 */
void host_rules_bound(struct host_rules *rules, const struct host_ability *machine);

/*
 * Adds what a SECRETS.md declares. If the host file has the same ref, its reveal, bindings and
 * deny_bind apply, and the slugs are those of SECRETS.md. Errors: ERROR_NO_MEMORY.
 */
int host_rules_add_inventory(struct arena *arena, struct host_rules *rules,
                             const struct host_inventory *inventory, struct error *e);

const struct host_inventory *host_rules_inventory(const struct host_rules *rules, const char *ref);

/* The user that asks, for host_secret_granted(). */
struct host_asking host_rules_asking(const struct host_rules *rules);
const struct host_mountable *host_rules_mountable(const struct host_rules *rules, const char *ref);

/*
 * The slug for an environment name: the binding, else lower-case with "-" for "_". In `arena`; NULL
 * if out of memory. Source: AIP-19.
 */
const char *host_inventory_slug(const struct host_inventory *inventory, struct arena *arena,
                                const char *name);

/*
 * The body of an entry of `policy`: the body itself, {inline: body}, {ref: name}, {file: path} or
 * the bare name; names are those of the host file. NULL: unknown.
 */
const struct node *host_policy_body(const struct host_rules *rules, const struct node *n);

/* Does this list contain the text? */
bool host_names_have(const struct spec_names *names, const char *text);

/*
 * Is the absolute, normal path equal to one of the roots or below it? This compares text only: code
 * that opens the path must still do so by handles. A path with "..", "." or "//" in it is never
 * below a root.
 */
bool host_path_is_below(const struct spec_names *roots, const char *path);

/*
 * The host directory of a mount that authorise() permitted. It is absolute, or relative to the
 * workspace for inline storage that says so; "." is the workspace itself; NULL if the host names no
 * directory.
 */
const char *host_mount_path(const struct host_rules *rules, const struct spec_mount *mount);

#endif
