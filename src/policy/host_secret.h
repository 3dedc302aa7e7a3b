/*
 * policy/host_secret.h - what this host knows about secrets: which are declared, which user may
 * have one bound, where values come from.
 *
 * No value is ever stored here. In the host file:
 *
 *     secrets:                              # which secrets a manifest's env.auth.ref declares
 *       ./SECRETS.md:
 *         file: /etc/carrel/SECRETS.md      # the inventory itself (AIP-19), or its slugs written
 * out: slugs: [openai-api-key] bindings: {OPENAI_KEY: openai-api-key} access: {openai-api-key:
 * [{role: ops}, {userId: "uid:1000"}]} deny_bind: [] reveal: true secret_sources: # asked in this
 * order
 *       - file: /etc/carrel/secrets         # lines slug=value, mode 0600
 *       - environment: {openai-api-key: OPENAI_API_KEY}
 *       - directory: $CREDENTIALS_DIRECTORY # a file for each slug, "/" of a slug written "."
 *       - command: [/usr/bin/pass, show, "{slug}"]
 *         slugs: [acme/token]               # the only slugs it is asked for (default: all)
 *         timeout_ms: 10000
 *     actors: {"uid:1000": {roles: [ops]}}  # attributes of a user, for grants that name roles,
 * caps, tools or workflows
 *
 * Source: AIP-19 (slugs, bindings, access, "bind").
 */
#ifndef CARREL_POLICY_HOST_SECRET_H
#define CARREL_POLICY_HOST_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/spec.h"
#include "text/tree.h"

enum {
        HOST_SOURCES_MAX = 32,
        HOST_COMMAND_WORDS_MAX = 64,
        HOST_COMMAND_TIMEOUT_MS = 10000,
        HOST_COMMAND_TIMEOUT_MAX_MS = 60000,
        HOST_SECRETS_MAX = 1024
};

/* -- declarations ------------------------------------------------------------------------------ */

struct host_binding {
        const char *name, *slug;
}; /* environment name, secret slug */

enum host_grant_kind {
        HOST_GRANT_ROLE,
        HOST_GRANT_USER,
        HOST_GRANT_CAP,
        HOST_GRANT_TOOL,
        HOST_GRANT_WORKFLOW,
        HOST_GRANT_MAX
};
struct host_grant {
        const char *slug;
        enum host_grant_kind kind;
        const char *value;
};

struct host_inventory {  /* what one SECRETS.md declares */
        const char *ref; /* as env.auth.ref writes it */
        struct spec_names slugs;
        const struct host_binding *bindings;
        size_t binding_count;
        /* slugs with an access list: only the users it names have access */
        struct spec_names restricted;
        const struct host_grant *grants;
        size_t grant_count;
        struct spec_names deny_bind;
        bool may_reveal; /* is the workspace's owner authorised? */
        /* the host file does not name it, so it decides nothing about the host's sources */
        bool is_of_workspace;
};

/* Is it a slug of AIP-19: ^([a-z][a-z0-9-]*[a-z0-9]/)?[a-z][a-z0-9-]*[a-z0-9]$, 2 to 80 characters?
 */
bool host_slug_check(const char *text);

/*
 * Reads the list `secrets` of a SECRETS.md into slugs, bindings, restricted and grants; other
 * fields of `ret` stay. An entry with a value is refused. Errors: ERROR_SCHEMA_INVALID and
 * ERROR_PLAINTEXT_CREDENTIAL "key" with a path "secrets/N/..." and place, ERROR_NO_MEMORY.
 */
int host_inventory_read(struct arena *arena, const struct node *list, struct host_inventory *ret,
                        struct error *e);

/*
 * Reads one entry of the host file's map `secrets`: its key is the ref. Errors:
 * ERROR_SCHEMA_INVALID, those of host_inventory_read().
 */
int host_inventory_entry(struct arena *arena, const struct node *entry, struct host_inventory *ret,
                         struct error *e);

/* -- access ------------------------------------------------------------------------------------ */

struct host_actor {
        const char *user;
        struct spec_names has[HOST_GRANT_MAX];
}; /* has[HOST_GRANT_USER] is empty */

int host_actors_read(struct arena *arena, const struct node *n, const struct host_actor **ret,
                     size_t *ret_count, struct error *e);

/* The user that asks, by name, and whether that user owns these rules. */
struct host_asking {
        const char *user;
        bool is_owner;
        const struct host_actor *actors;
        size_t actor_count;
};

/*
 * May this user have the secret bound? Without an access list only the owner may; with one, the
 * users that a grant names. ret receives the grant, or NULL if the user is the owner.
 */
bool host_secret_granted(const struct host_inventory *inventory, const char *slug,
                         const struct host_asking *asking, const struct host_grant **ret);

/* "role", "userId", ... */
const char *host_grant_word(enum host_grant_kind kind);

/* -- sources of values ------------------------------------------------------------------------- */

enum host_source_kind {
        HOST_SOURCE_FILE,
        HOST_SOURCE_ENVIRONMENT,
        HOST_SOURCE_DIRECTORY,
        HOST_SOURCE_COMMAND
};

struct host_source {
        enum host_source_kind kind;
        const char *path; /* FILE, DIRECTORY: absolute, or $CREDENTIALS_DIRECTORY */
        const struct host_binding *variables;
        size_t variable_count;   /* ENVIRONMENT */
        struct spec_names argv;  /* COMMAND; "{slug}" in a word is replaced by the slug */
        struct spec_names slugs; /* the only slugs it is asked for; empty: all */
        uint64_t timeout_ms;
};

struct host_sources {
        const struct host_source *items;
        size_t count;
};

/* Errors: ERROR_SCHEMA_INVALID with path "secret_sources/N/..." and place, ERROR_NO_MEMORY. */
int host_sources_read(struct arena *arena, const struct node *n, struct host_sources *ret,
                      struct error *e);

/*
 * Does a source take values from this environment variable? If so, it is not passed anywhere else.
 */
bool host_sources_have_variable(const struct host_sources *sources, const char *name);

#endif
