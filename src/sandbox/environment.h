/*
 * sandbox/environment.h - the environment of a command: a base set, what the manifest passes through, secrets.
 *
 * Nothing of the caller's environment comes in unless the manifest or the caller's command line names it.
 * Source: AIP-36 "env", design principle 5; cases A36-090 to 097.
 */
#ifndef CARREL_SANDBOX_ENVIRONMENT_H
#define CARREL_SANDBOX_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "secret/values.h"
#include "spec/spec.h"

enum { ENVIRONMENT_MAX = 1024 };

struct environment {
        const char *items[ENVIRONMENT_MAX + 1];   /* "NAME=value", NULL-terminated; the arena's */
        size_t count;
};

struct environment_request {
        const struct spec *spec;
        const struct host_rules *rules;
        const struct secret_values *secrets;       /* NULL: no source */
        const char *cwd;
        const char *first_path;                    /* directory searched before all others, or NULL */
        bool has_terminal;
        const char *name, *program;                /* with a terminal: what a shell's prompt calls the sandbox (NULL: carrel), and the command's first word */
        bool is_own;                               /* a function of the guest, no command of anybody's: it is given no secrets */
        const char *const *extra;  size_t extra_count;   /* NAME=value of the caller's command line */
        char *const *host;                         /* the caller's environment */
        bool keeps_all;                            /* tests only: everything of the caller's */
};

/* Errors: ERROR_AUTH_UNRESOLVABLE, ERROR_INVALID_ARGUMENT (a bad -e), ERROR_QUOTA_EXCEEDED, ERROR_NO_MEMORY. */
int environment_make(struct arena *arena, const struct environment_request *request, struct environment *ret, struct error *e);

#endif
