/*
 * base/findings.h - everything a judge has to say about one input: errors and warnings, in order.
 *
 * The first error is the verdict; later ones let a person fix a file in one go.
 * Owned by the caller; the lists live in an arena.
 */
#ifndef CARREL_BASE_FINDINGS_H
#define CARREL_BASE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* A remark that does not stop anything. `name` is a word of warnings.def ("alias_spelling", ...).
 */
struct warning {
        const char *name;    /* may carry a tail: "limit_unenforceable:memory_mb" */
        const char *path;    /* slash-separated place; "" if none */
        const char *message; /* one sentence */
        unsigned line, column;
        struct warning *next;
};

struct finding {
        struct error error;
        struct finding *next;
};

struct findings {
        struct arena *arena;
        struct finding *errors, **errors_end;
        struct warning *warnings, **warnings_end;
        size_t error_count, warning_count;
        const char *const *accepted; /* names, or tails of names, of warnings that are not added
                                        from now on; borrowed */
        size_t accepted_count;
};

enum { FINDINGS_MAX = 64 }; /* errors kept; later ones are counted only */

void findings_init(struct findings *f, struct arena *arena);
void findings_add(struct findings *f, const struct error *e);
void findings_warn(struct findings *f, const char *name, const char *path, unsigned line,
                   unsigned column, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* 0 if there was no error; else copies the first one to *e and answers -1. */
int findings_verdict(const struct findings *f, struct error *e);

#endif
