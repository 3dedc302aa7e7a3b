/*
 * secret/values.h - the development source of credentials: a private file of slug=value lines.
 *
 * The only holder of values in this program. They live in memory of their own that is kept out of core dumps and wiped
 * at the end; nothing here prints, logs or puts one into an error. The file must belong to the caller and be closed
 * to everybody else (mode 0600 or stricter). Source: AIP-19, "bind".
 */
#ifndef CARREL_SECRET_VALUES_H
#define CARREL_SECRET_VALUES_H

#include <stddef.h>

#include "base/error.h"

enum { SECRET_FILE_MAX = 64 * 1024, SECRET_VALUES_MAX = 512 };

struct secret_values;

/*
 * Reads the file. Lines are slug=value; blank lines and lines that start with "#" are skipped; the value is everything
 * after the first "=", as it stands. Gives values that the caller ends with secret_values_free().
 * Errors: ERROR_FILE_UNREADABLE with reason not_found, not_regular, permission, owner, mode or io;
 * ERROR_AUTH_UNRESOLVABLE "not_found" for a line that is no pair, a bad or repeated slug, or a value that is empty or holds
 * CR or NUL (the sentence names the line); ERROR_NO_MEMORY.
 */
int secret_values_open(const char *path, struct secret_values **ret, struct error *e);

/* Wipes and frees. Accepts NULL. */
void secret_values_free(struct secret_values *values);

/*
 * The value of a slug, borrowed until secret_values_free(). `values` may be NULL: no source is configured.
 * `path` is the place in the manifest that asks. Errors: ERROR_AUTH_UNRESOLVABLE "not_found".
 */
int secret_value_find(const struct secret_values *values, const char *slug, const char *path, const char **ret,
                      struct error *e);

#endif
