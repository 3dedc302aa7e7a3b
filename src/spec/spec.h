/*
 * spec/spec.h - the meaning of a sandbox block: checked, with defaults, in one spelling, never
 * changed afterwards.
 *
 * The normal form of AIP-36. Lists are arrays with a count. Every pointer lives in the arena the
 * spec was read into. UNSET marks a number that was not given and has no default.
 */
#ifndef CARREL_SPEC_SPEC_H
#define CARREL_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "manifest/manifest.h"
#include "spec/egress.h"
#include "text/tree.h"

#define SPEC_UNSET UINT64_MAX

enum { SPEC_DISK_MB = 2048 }; /* default for private places, in MiB */
enum { SPEC_PIDS = 16384 };   /* default upper bound; plan/limits.c lowers it by memory */

/* storage provider: a directory of the owner that outlives the sandbox */
#define SPEC_VOLUME "carrel-volume"

/* config.user of an image: uid 0 of the sandbox's own user namespace */
#define SPEC_USER_ROOT "root"

struct spec_place {
        unsigned line, column;
};

struct spec_limits {         /* AIP-36 limits and metadata.carrel.limits; SPEC_UNSET if not given */
        uint64_t timeout_ms; /* wall clock, per command; default: see prepare/time_allowed.h */
        uint64_t memory_mb;  /* MiB, whole sandbox */
        uint64_t cpu_ms;     /* CPU time of the whole tree, per command */
        uint64_t cpu_millicores; /* 1000 is one CPU */
        uint64_t pids;           /* tasks at once; default SPEC_PIDS, lowered by memory */
        uint64_t open_files;     /* per process; default 65536, of which 1024 at the start */
        uint64_t io_read_bps;    /* bytes per second and device */
        uint64_t io_write_bps;
        uint64_t disk_mb; /* MiB, all private writable places together; default 2048 */
        /* standard output and error together; output beyond it is dropped and counted */
        uint64_t output_bytes;
        bool is_timeout_given; /* timeout_ms was written, even with the default's number */
        /* the host's limit for a command without its own limit; SPEC_UNSET: none. Set by policy/ */
        uint64_t timeout_max_ms;
};

struct spec_secret_name { /* env.auth.state.env: a name that must resolve to a secret */
        const char *name;
        struct spec_place place;
        const char *slug; /* of a provider's own secret (prepare/elsewhere.c); else NULL */
};

struct spec_egress_caps { /* metadata.carrel.egress; SPEC_UNSET if not given: the gate's default */
        uint64_t connections;         /* at once */
        uint64_t names;               /* in use at once */
        uint64_t bytes_out, bytes_in; /* all connections together, over the life of the sandbox */
        uint64_t bytes_per_second;    /* in each direction */
};

struct spec_wall {      /* metadata.carrel.egress, beside the caps */
        bool is_given;  /* there is a wall even if the list is still empty */
        bool is_routed; /* a network namespace of its own: the sandbox may use every port inside */
};

/* Takes each value of `other` that is given and smaller. */
void egress_caps_narrow(struct spec_egress_caps *caps, const struct spec_egress_caps *other);

struct spec_env {
        const char *auth_ref; /* env.auth.ref as written, or NULL */
        struct spec_place auth_place;
        const struct spec_secret_name *auth;
        size_t auth_count;
        const struct spec_secret_name *passthrough;
        size_t passthrough_count;
};

enum spec_source_kind {
        SPEC_SOURCE_WORKSPACE,
        SPEC_SOURCE_REF,
        SPEC_SOURCE_FILE,
        SPEC_SOURCE_INLINE
};

struct spec_mount {
        enum spec_source_kind kind;
        const char *ref;              /* SPEC_SOURCE_REF, _FILE: as written */
        const char *storage_provider; /* SPEC_SOURCE_INLINE: AIP-35 provider id */
        const struct node *storage_config;
        /* SPEC_SOURCE_INLINE with provider SPEC_VOLUME: the volume's name; else NULL */
        const char *volume;
        bool storage_read_only; /* inline storage says read_only: true */
        const char *at;         /* absolute, normalised */
        bool is_read_only;      /* effective mode */
        struct spec_place place;
};

struct spec_identity { /* a label, never an OS user; exactly one form per entry */
        const char *ref, *file, *name, *email, *role;
};

struct spec_lifecycle {
        const char *pause_event; /* NULL: never pauses */
        uint64_t pause_idle_ms;  /* SPEC_UNSET if the event is not idle-N */
        const char *destroy_on;  /* event name, or NULL for none */
};

/* SPEC_DISK_DISK: an image if possible, otherwise a private directory. */
enum spec_disk {
        SPEC_DISK_AUTO,
        SPEC_DISK_MEMORY,
        SPEC_DISK_DISK,
        SPEC_DISK_IMAGE,
        SPEC_DISK_DIRECTORY
};

enum spec_unix { SPEC_UNIX_ON, SPEC_UNIX_OFF };

struct spec_names {
        const char *const *items;
        size_t count;
};

/* A requirement of the policy: one of the parties must approve. Without actions: each of them. */
struct spec_approval_from {
        struct spec_names parties, actions;
};

/* A limit of the policy: at most `max` calls of tools in a period. */
struct spec_rate {
        uint64_t max, period_ms;
};
enum { SPEC_RATES_MAX = 8 };

struct spec_carrel {      /* metadata.carrel: Carrel's own fields, typed and closed */
        const char *home; /* the volume used as home; NULL: a private home */
        struct spec_place home_place;
        enum spec_unix unix_sockets; /* `unix: off` closes AF_UNIX inside */
        enum spec_disk disk;         /* where the private places are stored */
        struct spec_names tools; /* absolute host directories, bound read-only at the same path */
        /* `protect: strict`: tracked content is held too, and the sandbox ends if a guarded name
         * is created */
        bool is_strict;
        struct spec_names protect;           /* more workspace-relative paths to keep read-only */
        struct spec_names unprotect;         /* default-protected paths to open */
        struct spec_names approve;           /* operations that wait for a person: spec/approve.h */
        const struct node *approve_document; /* {document: FILE} that was not read; or NULL */
        uint64_t approve_ms;                 /* how long they wait; 0: SPEC_APPROVE_MS */
        const struct node *tool_servers;     /* MCP servers by name, of the right shape; or NULL */
        const struct node *commands;         /* rules for commands, of the right shape; or NULL */
        unsigned sanitize; /* what is removed from output: a mask of text/sanitize.h */
        const char *tier;  /* the least tier that is accepted; or NULL */
        struct spec_place tier_place;
};

struct spec {
        const char *id, *version; /* NULL when absent */
        const char *provider;
        struct spec_place provider_place;
        const char *choice;        /* why authorise() took it for `auto`; NULL: it was named */
        const struct node *config; /* as written; typed members of `local` are below */
        const char *cwd;           /* local.cwd, or NULL */
        const char *shell;         /* local.shell; default /bin/sh */
        const char *image;         /* the image whose files are the root; NULL: those of the host */
        const char *user;          /* of commands in an image: SPEC_USER_ROOT, or NULL */
        struct spec_limits limits;
        struct spec_env env;
        /* from network.egress, then metadata.carrel.egress.host_ports */
        const struct spec_egress *egress;
        size_t egress_count;
        struct spec_egress_caps egress_caps;
        struct spec_wall wall;
        const struct spec_mount *mounts;
        size_t mount_count;
        const struct spec_identity *identities;
        size_t identity_count;
        const struct node *policy; /* as written (shape checked), or NULL */
        struct spec_place policy_place;
        const struct spec_approval_from *approval_from; /* set by authorise() */
        size_t approval_from_count;
        const struct spec_rate *rates; /* set by authorise() */
        size_t rate_count;
        /* most bytes out of sandboxes of the owner in a day, set by authorise(); SPEC_UNSET: no
         * limit */
        uint64_t egress_day_bytes;
        struct spec_lifecycle lifecycle;
        bool is_read_only;
        const struct node *metadata; /* NULL when absent */
        struct spec_carrel carrel;
        const char *block_path; /* "" or "sandbox/inline": paths in errors are relative to it */
};

/* Is its payload root, inside? */
bool spec_is_root(const struct spec *spec);

/*
 * Checks the block of `m` (m->block must be set), applies defaults and freezes it. All errors go to
 * `findings` in check order; the first is also written to *e. Paths in errors are relative to the
 * block. If m->runner is set, its smaller limits apply (A36-178). Errors: every validate-stage code
 * of AIP-36.
 */
int spec_read(struct arena *arena, const struct manifest *m, struct spec **ret,
              struct findings *findings, struct error *e);

/*
 * The first validator of these rules (NULL: none) that is a program, or NULL. Only a host file may
 * name one.
 */
const struct node *commands_find_program(const struct node *map);

#endif
