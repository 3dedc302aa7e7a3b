/*
 * secret/values.h - credentials in memory: the only holder of values in this program.
 *
 * They live in memory of their own that is kept out of core dumps and wiped at the end; nothing
 * here prints, logs or puts one into an error. Source: AIP-19, "bind".
 */
#ifndef CARREL_SECRET_VALUES_H
#define CARREL_SECRET_VALUES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

enum { SECRET_FILE_MAX = 64 * 1024, SECRET_VALUES_MAX = 512 };

struct secret_values;

/* None yet. NULL without memory. */
struct secret_values *secret_values_new(void);

/* Wipes and frees. Accepts NULL. */
void secret_values_free(struct secret_values *values);

/*
 * Reads a file of slug=value lines, which must belong to the caller and be closed to everybody else
 * (mode 0600 or stricter). Blank lines and lines that start with "#" are skipped; the value is
 * everything after the first "=", as it stands. Errors: ERROR_FILE_UNREADABLE with reason
 * not_found, not_regular, permission, owner, mode or io; ERROR_AUTH_UNRESOLVABLE "not_found" for a
 * line that is no pair, a bad or repeated slug, or a value that is empty or holds CR or NUL (the
 * sentence names the line); ERROR_NO_MEMORY.
 */
int secret_values_open(const char *path, struct secret_values **ret, struct error *e);

/*
 * Adding one: what is written to the room (bytes that are left) becomes a value by
 * secret_values_keep(). `slug` is borrowed. `source` says where it comes from, for the error:
 * ERROR_AUTH_UNRESOLVABLE "not_found" where it is empty, too long or holds CR, LF or NUL.
 */
char *secret_values_room(struct secret_values *values, size_t *ret_len);
int secret_values_keep(struct secret_values *values, const char *slug, size_t len,
                       const char *source, struct error *e);

/* The same from elsewhere. */
int secret_values_add(struct secret_values *values, const char *slug, const char *bytes, size_t len,
                      const char *source, struct error *e);

/* The value of a slug, borrowed until secret_values_free(), or NULL. `values` may be NULL. */
const char *secret_value_look(const struct secret_values *values, const char *slug);

/* The same; `path` is the place in the manifest that asks. Errors: ERROR_AUTH_UNRESOLVABLE
 * "not_found". */
int secret_value_find(const struct secret_values *values, const char *slug, const char *path,
                      const char **ret, struct error *e);

/* What is open: a regular file of this user or root, at most `most` bytes, that other users can
 * neither read nor write? Errors as above. */
int secret_file_check(int fd, const char *path, off_t most, struct error *e);

/* The whole of it, `room` bytes at most. Errors: ERROR_FILE_UNREADABLE "io". */
int secret_file_read(int fd, const char *path, char *bytes, size_t room, size_t *ret_len,
                     struct error *e);

#endif
