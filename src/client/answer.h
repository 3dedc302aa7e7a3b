/*
 * client/answer.h - what the library gives: structs whose memory comes along, ended by carrel_free().
 *
 * Every given object stands behind a hidden head that holds its arena; texts within it lie there. Only this room uses it.
 */
#ifndef CARREL_CLIENT_ANSWER_H
#define CARREL_CLIENT_ANSWER_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "event/outcome.h"
#include "wire/record.h"

enum { ANSWER_MAX = 256 << 20 };               /* bytes of one answer */

/* A zeroed object of `len` bytes and its arena, or NULL. */
void *answer_new(size_t len);
struct arena *answer_arena(void *answer);

/* Copies *e, with hint and status filled in, to what the caller gave (NULL: nobody asked). Always returns -1. */
int answer_fail(struct carrel_error *out, const struct error *e);

/* A copy of a text of the record within the arena; NULL where there is none (or no memory: arena_is_full()). */
const char *answer_text(struct arena *a, const struct record *r, uint16_t tag);

/* Every text of this tag. Gives the array, and how many. */
const char **answer_texts(struct arena *a, const struct record *r, uint16_t tag, size_t *ret_count);

/* From a record to a struct; all of it lives in the arena. 0 or -1 (ERROR_PROTOCOL, ERROR_NO_MEMORY). */
int answer_read_sandbox(struct arena *a, const struct record *r, struct carrel_sandbox *ret, struct error *e);
int answer_read_exec(struct arena *a, const struct record *r, struct carrel_exec_info *ret, struct error *e);
int answer_read_denial(struct arena *a, const struct record *r, void *ret /* struct carrel_denial */, struct error *e);
int answer_read_token(struct arena *a, const struct record *r, struct carrel_token *ret, struct error *e);

/* How a command ended, as the library tells it. */
void answer_end(const struct outcome *o, struct carrel_end *ret);

/* Is the arena's memory all there? 0, or ERROR_NO_MEMORY. */
int answer_check(const struct arena *a, struct error *e);

/*
 * Reads each FIELD_ITEMS of the record with `read` into an array of `size` bytes each, in the arena. Errors: as the reader's; a record that
 * is malformed.
 */
typedef int answer_read_fn(struct arena *a, const struct record *r, void *ret, struct error *e);
int answer_read_items(struct arena *a, const struct record *r, size_t size, answer_read_fn *read, void *ret_items, size_t *ret_count,
                      struct error *e);

/* The same of another tag. */
int answer_read_list(struct arena *a, const struct record *r, uint16_t tag, size_t size, answer_read_fn *read, void *ret_items, size_t *ret_count, struct error *e);

#endif
