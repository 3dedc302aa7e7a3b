/*
 * document/value.h - whether one value is of its kind, and what its text amounts to.
 */
#ifndef CARREL_DOCUMENT_VALUE_H
#define CARREL_DOCUMENT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/kind.h"

enum { DOCUMENT_NAME_MAX = 128 /* bytes; a longer name is none of a vocabulary */ };

/* Is `text` matched by a POSIX extended expression? False if the expression cannot be read. */
bool document_matches(const char *text, const char *pattern, bool ignores_case);

/*
 * Is a value of its kind? For lists and maps this says whether it is a list (of at least `min`) or
 * a map; document/check.h looks at what is inside, except for items of lists of single values.
 */
bool document_holds(const struct document_kind *kind, const struct node *n);

/* Neither null, nor a blank text, nor an empty list or map. */
bool document_is_present(const struct node *n);

/*
 * A name as vocabularies compare it: lower-cased, "_" for spaces and dashes, no blanks around it.
 * Truncated to `room` bytes. Returns `ret`.
 */
const char *document_name(const char *text, char *ret, size_t room);

/* Are two texts one name? */
bool document_is_name(const char *a, const char *b);

/* "1500ms", "20m", "1y" (365 days) in milliseconds, at most UINT64_MAX - 1; false: no duration. */
bool document_duration(const char *text, uint64_t *ret_ms);

/* "10Gi", "2G" in bytes, "1.5" too; false: no quantity, or zero. */
bool document_quantity(const char *text, uint64_t *ret_bytes);

/* "2000m" or "2" in millicores; false: neither, or zero. */
bool document_millicores(const char *text, uint64_t *ret);

/* The tier as a number 1 to 4, or 0. `tier` may be NULL. */
unsigned document_tier(const struct node *tier);

/* The highest tier that this runtime class may claim, or 0 if it is not known. */
unsigned document_runtime_tier(const char *runtime_class);

/* Is it a control of the vocabulary? Does it express an intent instead? */
bool document_is_control(const char *name);
bool document_is_intent(const char *text);

/* The class of untrusted input that this name is one of, or NULL. */
const char *document_input_class(const char *name);

#endif
