/*
 * prepare/prepare.h - from a manifest to a plan: the one way that `carrel run` and the keeper share.
 *
 *     tree -> spec (checked) -> authorised -> sources opened -> plan
 *             prepare_judge()                 prepare_plan() ... prepared_release()
 *
 * `create` walks the whole way, so that its errors come at once, and lets go of what was opened; the start of the box walks the second
 * half again, because the world may have changed. No text is parsed here.
 */
#ifndef CARREL_PREPARE_PREPARE_H
#define CARREL_PREPARE_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "plan/plan.h"
#include "prepare/host.h"
#include "sandbox/environment.h"
#include "sandbox/sources.h"
#include "secret/bind.h"
#include "spec/spec.h"

#define PREPARE_UID_ANY UINT32_MAX

struct prepare_request {
        const char *id;                /* [0-9a-f]{16}: names leases and groups */
        const char *workspace;         /* absolute directory, or NULL: none */
        const char *const *reads;  size_t read_count;  /* what was read to judge: absolute, or relative to the workspace; read-only inside */
        const char *keeping;           /* absolute directory, for what is moved out of the workspace; NULL: below the runtime directory */
        const char *runtime;           /* a template's name, or NULL */
        const char *actor;             /* who wants secrets bound: a user's name; NULL: the principal, whose host this is */
        const char *owner;             /* whose volumes it may have: "uid:1000"; NULL: nobody's, and it has none */
        uint32_t caller_uid;           /* whose workspace it has to be, unless the host's mount_roots permit it; PREPARE_UID_ANY: not asked */
        int64_t now_s;                 /* seconds since 1970 */
        uint64_t timeout_ms;           /* how long the one command of a sandbox may take at most; 0: no limit, or its limits are somebody else's */
        bool is_living;                /* many commands, freezing: a group even where no limit needs one */
        uint32_t layers_off;           /* 0 in the shipped program */
};

struct prepared {
        struct arena arena;            /* spec, template; as long as the sandbox */
        struct findings findings;      /* everything that was said about the manifest */
        const struct spec *spec;       /* authorised */
        const struct host_rules *rules;        /* the host's, with the template's directory permitted */
        const struct runtime *runtime; /* or NULL; the host's */
        const char *cwd;               /* inside; after prepare_plan() */
        enum plan_cpu cpu;             /* after prepare_plan() */
        uint64_t disk_floor_mb;        /* after prepare_plan() */
        /* from prepare_plan() to prepared_release() */
        struct arena plan_arena, *plans;       /* `plans`: where the plan lives */
        struct sources *sources;
        const struct plan *plan;
        const char *workspace;         /* absolute, without links, or NULL */
        const char *why_no_image;      /* the private places would be an image on a disk, and are memory: why; or NULL */
        uint32_t outside_uid;
        bool is_short;                 /* of one command: the plan lives in `arena` too */
};

/* `p` may hold anything. Ended with prepared_fini(). */
void prepared_init(struct prepared *p);

/* The same; the first bytes of its arena lie in `memory` (base/arena.h), those of the plan too. */
void prepared_init_in(struct prepared *p, void *memory, size_t len);

/* How much this caller may have: see policy/host_limits.h. */
struct host_limits prepare_limits(const struct prepare_host *host, uint32_t caller_uid);

/*
 * Checks and authorises a manifest: the whole front matter, or the block alone; NULL: the standard one (provider local, no network, no
 * mounts, a private home to work in). Opens nothing. A reference to another file is ERROR_REF_UNRESOLVABLE, and the hint names
 * `carrel create -f`, which follows references before it sends. A SECRETS.md that the host file does not list is ERROR_AUTH_UNRESOLVABLE, and
 * the hint says where to list its slugs: no caller may vouch for an inventory, so none reads one for the daemon. Also
 * ERROR_RUNTIME_UNKNOWN, ERROR_NOT_CONFIGURED, and every code of validate and authorise. `tree` is borrowed as long as `p` lives.
 * A manifest with read_only passes: p->spec->is_read_only, and no command may run. So does a provider other than local.
 */
int prepare_judge(const struct prepare_host *host, const struct prepare_request *request, const struct node *tree, struct prepared *p, struct error *e);

/* For who has judged already (`carrel run`): takes an authorised spec that lives in p->arena. Errors: ERROR_RUNTIME_UNKNOWN, ERROR_NO_MEMORY. */
int prepare_take(const struct prepare_host *host, const struct prepare_request *request, const struct spec *allowed, struct prepared *p, struct error *e);

/*
 * Opens what the spec's mounts and the template name, chooses whom the payload is outside, plans. May be called again after
 * prepared_release(); warnings are then said once more. Errors: ERROR_WORKSPACE_NOT_FOUND, ERROR_MOUNT_DENIED (also for a workspace that is
 * neither the caller's nor below a mount root, for a source that holds or is part of the daemon's state, and for a volume of nobody's), ERROR_PROVIDER_UNKNOWN, ERROR_QUOTA_EXCEEDED, those of sources_open() and plan_build().
 */
int prepare_plan(const struct prepare_host *host, const struct prepare_request *request, struct prepared *p, struct error *e);

/* Closes what prepare_plan() opened and forgets its plan. Accepts one that has none. */
void prepared_release(struct prepared *p);

void prepared_fini(struct prepared *p);

struct prepare_command {               /* what one command asks, beside its sandbox */
        const char *cwd;               /* absolute and inside, or NULL: that of the sandbox */
        bool has_terminal;
        const char *name, *program;    /* of the sandbox and of the command: for the prompt of a shell at a terminal; each may be NULL */
        const char *const *sandbox_env;  size_t sandbox_env_count;     /* NAME=value of create */
        const char *const *env;  size_t env_count;                     /* NAME=value of this command; wins */
        char *const *host;             /* the operator's environment: what the manifest may pass through, LANG, TERM */
        const struct secret_values *secrets;   /* that were fetched for it; NULL: none */
        const char *actor;             /* as in struct prepare_request */
        bool is_own;                   /* a function of the guest: no secrets */
        bool keeps_all;                /* tests only: everything of `host` */
};

/* Somebody who asks the sources in our place, as secret_sources_fetch() would. */
struct prepare_source {
        int (*fetch)(void *ctx, const char *const *slugs, size_t count, struct secret_values *values, size_t *ret_failed, struct error *e);
        void *ctx;
};

/*
 * Fetches what the manifest's env.auth names, after asking whether it may have it: for `carrel run`, which asks the sources itself where `instead` is NULL. Variables that
 * hold secrets are taken out of `environment`. Gives values (NULL where it names none) that the caller ends with secret_values_free(), and
 * which live as long as `arena`. Errors: those of secret_wanted() and secret_sources_fetch().
 */
int prepare_secrets(struct arena *arena, const struct prepared *p, char **environment, const struct prepare_source *instead, struct secret_values **ret, struct error *e);

/* For who has them fetched by another process: what is wanted, access checked for `actor`. Errors: those of secret_wanted(). */
int prepare_secrets_wanted(struct arena *arena, const struct prepared *p, const char *actor, struct secret_bound **ret, size_t *ret_count, struct error *e);

/*
 * The environment of one command, in `arena`. Secrets are copied into it: prepare_environment_wipe() once it is handed on, before `arena`
 * ends. Errors: as environment_make().
 */
int prepare_environment(struct arena *arena, const struct prepared *p, const struct prepare_command *command, struct environment *ret, struct error *e);
void prepare_environment_wipe(struct environment *env);

#endif
