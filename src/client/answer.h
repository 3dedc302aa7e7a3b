/*
 * client/answer.h - the structs that the library returns. Each owns its memory; carrel_free() frees
 * it.
 *
 * Each returned object follows a hidden header that holds its arena. Its texts are in that arena.
 * Only this room uses this header.
 */
#ifndef CARREL_CLIENT_ANSWER_H
#define CARREL_CLIENT_ANSWER_H

#include <stddef.h>

#include "api/ending.h"
#include "base/arena.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "wire/record.h"

enum { ANSWER_MAX = 256 << 20 }; /* bytes of one answer */

/*
 * Gives a zeroed object of `len` bytes, or NULL if out of memory. answer_arena() returns its arena.
 */
void *answer_new(size_t len);
struct arena *answer_arena(void *answer);

/*
 * Copies *e, with hint and status filled in, to `out` (NULL: the caller wants no error). Always
 * returns -1.
 */
int answer_fail(struct carrel_error *out, const struct error *e);

/*
 * Copies a text of the record into the arena. NULL if the record has none, or if out of memory
 * (arena_is_full()).
 */
const char *answer_text(struct arena *a, const struct record *r, uint16_t tag);

/*
 * Copies every text with this tag into the arena. Returns the array, and its length in *ret_count.
 */
const char **answer_texts(struct arena *a, const struct record *r, uint16_t tag, size_t *ret_count);

/*
 * Reads a record into a struct whose texts are in the arena. Returns 0 or -1 (ERROR_PROTOCOL,
 * ERROR_NO_MEMORY).
 */
int answer_read_sandbox(struct arena *a, const struct record *r, struct carrel_sandbox *ret,
                        struct error *e);
int answer_read_exec(struct arena *a, const struct record *r, struct carrel_exec_info *ret,
                     struct error *e);
int answer_read_denial(struct arena *a, const struct record *r,
                       void *ret /* struct carrel_denial */, struct error *e);
/* The list of what commands left behind, and the number of those not listed. */
int answer_read_lefts(struct arena *a, const struct record *r, void *ret /* struct carrel_lefts */,
                      struct error *e);
int answer_read_token(struct arena *a, const struct record *r, struct carrel_token *ret,
                      struct error *e);

/* Converts how a command ended into the library's public struct. */
void answer_end(const struct outcome *o, struct carrel_end *ret);

/* Checks that no allocation in the arena failed. Returns 0 or -1 (ERROR_NO_MEMORY). */
int answer_check(const struct arena *a, struct error *e);

/*
 * Reads each FIELD_ITEMS of the record with `read` into an array in the arena. `size` is the size
 * of one item in bytes. Errors: those of `read`; the error of a malformed record.
 */
typedef int answer_read_fn(struct arena *a, const struct record *r, void *ret, struct error *e);
int answer_read_items(struct arena *a, const struct record *r, size_t size, answer_read_fn *read,
                      void *ret_items, size_t *ret_count, struct error *e);

/* As answer_read_items(), for entries with another tag. */
int answer_read_list(struct arena *a, const struct record *r, uint16_t tag, size_t size,
                     answer_read_fn *read, void *ret_items, size_t *ret_count, struct error *e);

#endif
