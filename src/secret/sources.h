/*
 * secret/sources.h - where values come from: files, directories, the environment, commands, in the
 * order of the host file.
 *
 * One implementation for `carrel run` and for the fetcher of the daemon. Who asks has been judged
 * before (secret/bind.h): here is only fetched. Nothing is cached. A source that does not know a
 * slug passes it on to the next; one that cannot be asked, or answers what is no value, is an error
 * at once: a later source might hold what has been replaced.
 */
#ifndef CARREL_SECRET_SOURCES_H
#define CARREL_SECRET_SOURCES_H

#include <stddef.h>

#include "base/error.h"
#include "policy/host_rules.h"
#include "secret/values.h"

struct secret_sources {
        struct host_sources listed;
        const char *file;                      /* asked last; NULL: none */
        const struct secret_values *variables; /* of secret_variables_take(); NULL: none */
};

/*
 * Takes the variables that the sources name out of the environment, which loses them, so that they
 * are not in /proc either. Adds to `*values`, made here where it is NULL. Errors: ERROR_NO_MEMORY,
 * ERROR_AUTH_UNRESOLVABLE (too long).
 */
int secret_variables_take(const struct host_sources *sources, char **environment,
                          struct secret_values **values, struct error *e);

/*
 * Asks for each of `count` slugs (borrowed as long as `values` lives). Errors:
 * ERROR_AUTH_UNRESOLVABLE "not_found" (the sentence names the slug and the sources asked, never a
 * value), ERROR_FILE_UNREADABLE turned into it, ERROR_NO_MEMORY; `*ret_failed` is the slug's index.
 */
int secret_sources_fetch(const struct secret_sources *sources, const char *const *slugs,
                         size_t count, struct secret_values *values, size_t *ret_failed,
                         struct error *e);

/* One kind each: 1 added, 0 not known there, -1. */
int secret_directory_fetch(const struct host_source *source, const char *slug,
                           struct secret_values *values, struct error *e);
int secret_command_fetch(const struct host_source *source, const char *slug,
                         struct secret_values *values, struct error *e);

#endif
