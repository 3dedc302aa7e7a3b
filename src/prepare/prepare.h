/*
 * prepare/prepare.h - from a manifest to a plan: the path that `carrel run` and the keeper share.
 *
 *     tree -> spec (checked) -> authorised -> sources opened -> plan
 *             prepare_judge()                 prepare_plan() ... prepared_release()
 *
 * `create` runs all stages, so that errors are reported at once, and closes what it opened. The
 * start of the box runs the second half again, because the files may have changed. No text is
 * parsed here.
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
#include "prepare/environment.h"
#include "prepare/host.h"
#include "prepare/permission.h"
#include "secret/bind.h"
#include "sources/sources.h"
#include "spec/provider.h"
#include "spec/spec.h"
#include "wire/command.h"

#define PREPARE_UID_ANY UINT32_MAX

struct prepare_request {
        const char *id;        /* [0-9a-f]{16}: names leases and groups */
        const char *workspace; /* absolute directory, or NULL */
        /* files that were read to judge: absolute, or relative to the workspace; read-only
         * inside */
        const char *const *reads;
        size_t read_count;
        /* absolute directory for names moved out of the workspace; NULL: below the runtime
         * directory */
        const char *keeping;
        const char *runtime; /* a template's name, or NULL */
        /* what `provider: auto` became when the sandbox was created; NULL: it is chosen now */
        const char *provider;
        /* the user that secrets are bound for: a name; NULL: the principal, whose host this is */
        const char *actor;
        /* the owner of the volumes that may be mounted: "uid:1000"; NULL: no volumes */
        const char *owner;
        /* the required owner of the workspace, unless the host's mount_roots permit it;
         * PREPARE_UID_ANY: not checked */
        uint32_t caller_uid;
        int64_t now_s;                   /* seconds since 1970 */
        const struct grant_usage *usage; /* of the owner, for limits; NULL: nobody counts */
        /* time limit for the one command of a sandbox; 0: none, or another process enforces it */
        uint64_t timeout_ms;
        bool watches_exec; /* every execve is reported */
        bool is_living; /* many commands, can be frozen: has a group even if no limit needs one */
        uint32_t switched_off;             /* 0 in the shipped program */
        const struct prepare_saved *saved; /* NULL: what the store has */
};

struct rootfs;
struct prepared {
        struct arena arena;             /* spec, template; lives as long as the sandbox */
        struct findings findings;       /* all messages about the manifest */
        const struct spec *spec;        /* authorised */
        const struct host_rules *rules; /* the host's, with the template's directory permitted */
        const struct runtime *runtime;  /* or NULL; the host's */
        struct rootfs *image;           /* NULL: the root is made of the host's programs */
        const struct node *tree;        /* of prepare_judge() */
        const char *bridge; /* a sandbox elsewhere: what its program is asked for; or NULL */
        /* every command is this program's, under its permission model; or NULL */
        const char *interpreter;
        const char *cwd;             /* inside; after prepare_plan() */
        enum plan_cpu cpu;           /* after prepare_plan() */
        enum provider_engine engine; /* what runs it; after prepare_plan() */
        uint64_t disk_floor_mb;      /* after prepare_plan() */
        /* the fields below are valid from prepare_plan() to prepared_release() */
        struct arena plan_arena, *plans; /* `plans`: the arena that holds the plan */
        struct sources *sources;
        const struct plan *plan;
        const char *workspace;     /* absolute, without links, or NULL */
        const char *private_place; /* where the private directory is created; NULL: none */
        /* why the private places are in memory although a disk was wanted; or NULL */
        const char *why_no_image;
        /* the container runtime that makes the sandbox, absolute; NULL: our own namespaces */
        const char *container;
        const struct plan_machine *machine; /* the virtual machine that is it; NULL: none */
        uint32_t outside_uid;
        char norm_digest[65];   /* of prepare/norm_digest.h; "": not needed so far */
        char policy_digest[65]; /* of prepare/policy_digest.h; "": no rules, or not needed so far */
        bool is_short;          /* runs one command: the plan is in `arena` too */
};

/* Initialises `p`, which may hold anything. End with prepared_fini(). */
void prepared_init(struct prepared *p);

/*
 * The same, but the first bytes of its arena, and of the plan's arena, are in `memory`
 * (base/arena.h).
 */
void prepared_init_in(struct prepared *p, void *memory, size_t len);

/* The limits of this caller: see policy/host_limits.h. */
struct host_limits prepare_limits(const struct prepare_host *host, uint32_t caller_uid);

/*
 * Checks and authorises a manifest: the whole front matter or only the block. NULL: the default one
 * (provider auto, no network, no mounts, a private home as working directory). Opens nothing.
 * `tree` is borrowed as long as `p` lives.
 *
 * A reference to another file is ERROR_REF_UNRESOLVABLE; the hint names `carrel create -f`, which
 * resolves references before it sends. A SECRETS.md that the host file does not list is
 * ERROR_AUTH_UNRESOLVABLE, and the hint says where to list its slugs: a caller cannot vouch for an
 * inventory, so the daemon reads none for it. Other errors: ERROR_RUNTIME_UNKNOWN,
 * ERROR_NOT_CONFIGURED, and every code of validate and authorise.
 *
 * A manifest with read_only passes: p->spec->is_read_only is set, and no command may run. A
 * provider other than local passes too.
 */
int prepare_judge(const struct prepare_host *host, const struct prepare_request *request,
                  const struct node *tree, struct prepared *p, struct error *e);

/*
 * For a caller that has judged already (`carrel run`): takes an authorised spec that lives in
 * p->arena. Errors: ERROR_RUNTIME_UNKNOWN, ERROR_NO_MEMORY.
 */
int prepare_take(const struct prepare_host *host, const struct prepare_request *request,
                 const struct spec *allowed, struct prepared *p, struct error *e);

/*
 * Opens the sources of the spec's mounts and of the template, chooses the payload's outside ids,
 * and plans. May be called again after prepared_release(); it then repeats its warnings. Errors:
 * ERROR_WORKSPACE_NOT_FOUND, ERROR_MOUNT_DENIED (also for a workspace that is neither the caller's
 * nor below a mount root, for a source that holds or is part of the daemon's state, and for a
 * volume without an owner), ERROR_PROVIDER_UNKNOWN, ERROR_QUOTA_EXCEEDED, those of sources_open()
 * and plan_build().
 */
int prepare_plan(const struct prepare_host *host, const struct prepare_request *request,
                 struct prepared *p, struct error *e);

/* Is the caller another user than the one of this process? */
bool prepare_is_for_other(const struct prepare_host *host, const struct prepare_request *request);

/*
 * The part of prepare_plan() that opens the workspace, mounts and tools (p->workspace, p->sources)
 * and judges whether the caller may have them. Errors: of those above, the ones of sources_open()
 * and of directories.
 */
int prepare_directories(const struct prepare_host *host, const struct prepare_request *request,
                        struct prepared *p, struct error *e);

/*
 * Where `disk: disk` would store /tmp and the home on this host: *ret_name is "image" or
 * "directory", and *ret_at the host's directory. Returns NULL, or a sentence with the reason why
 * there is no disk; all live as long as `arena`. host->facts, volumes and state are read.
 */
const char *prepare_find_disk(struct arena *arena, const struct prepare_host *host,
                              const char **ret_name, const char **ret_at);

/*
 * The host's directory that holds /tmp and the home, or NULL if they are memory. Borrowed, valid
 * until prepared_release().
 */
const char *prepared_disk(const struct prepared *p);

/*
 * The command of the sandbox's image: its entry point, then its command. Both are 0 and NULL if it
 * has none, or if there is no image. In the arena of `p`. Errors: ERROR_NO_MEMORY.
 */
int prepared_command(struct prepared *p, char ***ret, size_t *ret_count, struct error *e);
/* For permission_words(): of a sandbox with a plan. */
struct permission prepared_permission(const struct prepared *p);

/* Closes what prepare_plan() opened and drops its plan. Accepts one without a plan. */
void prepared_release(struct prepared *p);

void prepared_fini(struct prepared *p);

struct prepare_command { /* the inputs of one command, beside its sandbox */
        /* what it executes: its environment is NAME=value that override the others; cwd NULL: the
         * sandbox's directory; a function of the guest (WIRE_EXEC_BUILTIN) receives no secrets */
        const struct wire_command *command;
        const char *name; /* of the sandbox, for a shell's prompt at a terminal; may be NULL */
        const char *const *sandbox_env;
        size_t sandbox_env_count; /* NAME=value of create */
        /* the operator's environment: variables that the manifest may pass through, LANG, TERM */
        char *const *host;
        const struct secret_values *secrets; /* fetched for this command; NULL: none */
        const char *actor;                   /* as in struct prepare_request */
        /* for rules, of a sandbox in which root may write its image: nothing has run there; or the
         * directory with what was written, borrowed; or neither is known */
        bool is_first;
        const int *upper;
        bool keeps_all; /* tests only: passes everything of `host` */
};

/* A function that asks the sources instead of this process, as secret_sources_fetch() would. */
struct prepare_source {
        int (*fetch)(void *ctx, const char *const *slugs, size_t count,
                     struct secret_values *values, size_t *ret_failed, struct error *e);
        void *ctx;
};

/*
 * Checks access and fetches the secrets that the manifest's env.auth names, for `carrel run`. If
 * `instead` is NULL, this process asks the sources itself. Variables that hold secrets are removed
 * from `environment`. Gives values (NULL if the manifest names none), which live as long as
 * `arena`; end them with secret_values_free(). Errors: those of secret_wanted() and
 * secret_sources_fetch().
 */
int prepare_secrets(struct arena *arena, const struct prepared *p, char **environment,
                    const struct prepare_source *instead, struct secret_values **ret,
                    struct error *e);

/*
 * For a caller that fetches through another process: gives what is wanted, after an access check
 * for `actor`. Errors: those of secret_wanted().
 */
int prepare_secrets_wanted(struct arena *arena, const struct prepared *p, const char *actor,
                           struct secret_bound **ret, size_t *ret_count, struct error *e);

/*
 * The environment of one command, in `arena`. Secrets are copied into it: call
 * prepare_environment_wipe() after it was passed on, before `arena` ends. Errors: as
 * environment_make().
 */
int prepare_environment(struct arena *arena, const struct prepared *p,
                        const struct prepare_command *command, struct environment *ret,
                        struct error *e);
void prepare_environment_wipe(struct environment *env);

#endif
