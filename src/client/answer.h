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
#include "api/operation.h"
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

/* -- where the members of a record are in the structs of carrel.h ------------------------------ */

enum answer_kind {
        ANSWER_TEXT,    /* const char *, NULL if absent */
        ANSWER_NUMBER,  /* unsigned, of `size` bytes; a value above its range is its maximum */
        ANSWER_FLAG,    /* int */
        ANSWER_TEXTS,   /* const char *const *, and a size_t */
        ANSWER_NUMBERS, /* an array, and a size_t */
        ANSWER_RECORDS, /* an array of structs, and a size_t */
};

struct answer_member {
        uint16_t tag;
        enum answer_kind kind;
        size_t offset, size; /* in the struct; bytes of the number, or of one element */
        size_t count_offset; /* of a list's count */
        uint64_t absent;     /* the number if there is none */
        const struct answer_shape *item;
};

struct answer_shape {
        const struct api_type *type,
                *item; /* the answers that it reads; item: of a list, or NULL */
        size_t size;   /* of the struct */
        const struct answer_member *members;
        size_t count;
        void (*fill_rest)(const struct record *r, void *ret); /* or NULL */
};

/* The answer of `stop`. */
struct answer_stopped {
        struct carrel_lefts left; /* first: the caller gets only this */
        int existed;
};

/* The refusals of one exec as struct carrel_denials. */
extern const struct answer_shape answer_exec_denials;

/* Returns the shape for answers of an operation, or NULL. `*at` of answer_shape_next() starts at 0.
 */
const struct answer_shape *answer_shape_of(const struct operation *o);
const struct answer_shape *answer_shape_next(size_t *at);

/*
 * Reads a record into a struct. Texts stay in the record; lists are in the arena. Returns 0 or -1
 * (ERROR_PROTOCOL: a required member is missing; ERROR_NO_MEMORY).
 */
int answer_fill(struct arena *a, const struct answer_shape *s, const struct record *r, void *ret,
                struct error *e);

/* Copies the record into the answer's arena; client_record() returns it. Returns 0 or -1. */
int answer_keep(void *answer, const struct record *r, struct error *e);

/* Converts how a command ended into the library's public struct. */
void answer_end(const struct outcome *o, struct carrel_end *ret);

/* Checks that no allocation in the arena failed. Returns 0 or -1 (ERROR_NO_MEMORY). */
int answer_check(const struct arena *a, struct error *e);

#endif
