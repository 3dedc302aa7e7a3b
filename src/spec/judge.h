/*
 * spec/judge.h - what every section reader holds while it judges a block: where it is, and where faults go.
 *
 * A trail is the way from the block down to a value, one link on the stack of each reader; it becomes text
 * ("network/egress/2") only when something has to be said. Nothing said here ever holds a credential:
 * keys and values that look like one are written as "(hidden)".
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
        const struct trail *up;      /* NULL at the block itself */
        const char *key;             /* member name, or NULL for an item of a list */
        size_t index;                /* 0-based, where key is NULL */
};

struct judge {
        struct arena *arena;
        struct findings *findings;
        enum manifest_kind kind;
        enum manifest_syntax syntax;
};

/* Writes the slash-separated path into `text` of `len` bytes, cut short where it does not fit. NULL is "". */
void trail_write(const struct trail *at, char *text, size_t len);

/*
 * Adds an error at `at`, placed at `where` (NULL: no line). `hint` may be NULL: the code's own. A second error
 * at a path already reported as a credential is dropped: it says nothing new.
 */
void judge_error(struct judge *j, const struct node *where, const struct trail *at, enum error_code code,
                 const char *reason, const char *hint, const char *fmt, ...)
        __attribute__((format(printf, 7, 8)));

/* As judge_error(), placed at the key of the member `where`. */
void judge_error_key(struct judge *j, const struct node *where, const struct trail *at, enum error_code code,
                     const char *reason, const char *hint, const char *fmt, ...)
        __attribute__((format(printf, 7, 8)));

/* Adds a warning at `at`, placed at `where` (at its key if it has one). */
void judge_warn(struct judge *j, const struct node *where, const struct trail *at, const char *name,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * `text` as it may be shown in a sentence: cut at 48 bytes, control bytes as "?", "(hidden)" where it holds
 * the shape of a credential. Never NULL; lives in the judge's arena.
 */
const char *judge_quote(struct judge *j, const char *text);

/* Has an error been found since `error_count` was read from the findings? */
static inline bool
judge_is_clean(const struct judge *j, size_t error_count)
{
        return j->findings->error_count == error_count;
}

#endif
