/*
 * prepare/environment.h - the environment of a command: a base set, variables that the manifest
 * passes through, secrets.
 *
 * A variable of the caller's environment is used only if the manifest or the caller's command line
 * names it. Source: AIP-36 "env", design principle 5; cases A36-090 to 097.
 */
#ifndef CARREL_PREPARE_ENVIRONMENT_H
#define CARREL_PREPARE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "secret/values.h"
#include "spec/spec.h"

enum { ENVIRONMENT_MAX = 1024 };

struct environment {
        const char *items[ENVIRONMENT_MAX + 1]; /* "NAME=value", NULL-terminated; the arena's */
        size_t count;
};

struct environment_request {
        const struct spec *spec;
        const struct host_rules *rules;
        const struct secret_values *secrets; /* NULL: no source */
        const char *cwd;
        const char *first_path; /* directory searched before all others, or NULL */
        /* NAME=value of the image; variables of the manifest and of the caller replace them */
        const char *const *image;
        size_t image_count;
        bool has_terminal;
        /* With a terminal: the names in the shell's prompt. `name` is the sandbox (NULL:
         * carrel), `program` the command's first word. */
        const char *name, *program;
        bool is_elsewhere; /* on another machine: paths and users of this one mean nothing */
        bool is_own; /* a function of the guest, not a user's command: it receives no secrets */
        /* NAME=value from the caller's command line */
        const char *const *extra;
        size_t extra_count;
        char *const *host; /* the caller's environment */
        bool keeps_all;    /* tests only: keeps the caller's whole environment */
};

/*
 * The PATH of a command. `is_ruled`: rules for commands apply, or each command waits for a person,
 * so a directory that commands can write is not searched. In `arena`; never NULL.
 */
const char *environment_path(struct arena *arena, const struct spec *spec, const char *first_path,
                             bool is_ruled);

/* Errors: ERROR_AUTH_UNRESOLVABLE, ERROR_INVALID_ARGUMENT (a bad -e), ERROR_QUOTA_EXCEEDED,
 * ERROR_NO_MEMORY. */
int environment_make(struct arena *arena, const struct environment_request *request,
                     struct environment *ret, struct error *e);

#endif
