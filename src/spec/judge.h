/*
 * spec/judge.h - the state that section readers share while they judge a block: the current path,
 * and where faults are added.
 *
 * A trail is the path from the block down to a value, one link on the stack of each reader. It
 * becomes text ("network/egress/2") only for a message. No message contains a credential: keys and
 * values that look like one are written as "(hidden)".
 */
#ifndef CARREL_SPEC_JUDGE_H
#define CARREL_SPEC_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "manifest/manifest.h"
#include "text/tree.h"

struct trail {
        const struct trail *up; /* NULL at the block itself */
        const char *key;        /* member name, or NULL for an item of a list */
        size_t index;           /* 0-based, if key is NULL */
};

struct field_advice;

struct judge {
        struct arena *arena;
        struct findings *findings;
        enum manifest_kind kind;
        enum manifest_syntax syntax;
        const struct field_advice *advice; /* spec/field.h; NULL: only the help of the rows */
};

/*
 * Writes the slash-separated path into `text` of `len` bytes and truncates it if it does not fit.
 * NULL is "".
 */
void trail_write(const struct trail *at, char *text, size_t len);

/*
 * Adds an error for the path `at`, with the position of `where` (NULL: no line). `hint` NULL: the
 * code's own hint. A second error at a path that is already reported as a credential is dropped,
 * since it adds nothing.
 */
void judge_error(struct judge *j, const struct node *where, const struct trail *at,
                 enum error_code code, const char *reason, const char *hint, const char *fmt, ...)
        __attribute__((format(printf, 7, 8)));

/* As judge_error(), with the position of the key of the member `where`. */
void judge_error_key(struct judge *j, const struct node *where, const struct trail *at,
                     enum error_code code, const char *reason, const char *hint, const char *fmt,
                     ...) __attribute__((format(printf, 7, 8)));

/* Adds a warning for the path `at`, with the position of `where` (of its key if it has one). */
void judge_warn(struct judge *j, const struct node *where, const struct trail *at, const char *name,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * `text` in a form that may appear in a message: cut at 48 bytes, control bytes as "?", "(hidden)"
 * if it has the shape of a credential. Never NULL; lives in the judge's arena.
 */
const char *judge_quote(struct judge *j, const char *text);

/* Has an error been found since `error_count` was read from the findings? */
static inline bool
judge_is_clean(const struct judge *j, size_t error_count)
{
        return j->findings->error_count == error_count;
}

#endif
