/*
 * document/findings.h - everything that is wrong with a document: codes, places and hints, in
 * order.
 *
 * Owned by the caller; the list lives in an arena. One code is reported once for one path.
 */
#ifndef CARREL_DOCUMENT_FINDINGS_H
#define CARREL_DOCUMENT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "text/tree.h"

struct document_finding {
        const char *code;      /* a word of codes.def */
        const char *path;      /* "network.egress_allowlist[0].port"; "" for the document itself */
        const char *message;   /* one sentence */
        const char *hint;      /* what to do */
        unsigned line, column; /* 0: the document has no such place */
        bool is_error;
        const struct document_finding *next;
};

struct document_findings {
        struct arena *arena;
        const struct document_finding *first, **end;
        size_t error_count, warning_count; /* also of those that were not kept */
};

enum { DOCUMENT_FINDINGS_MAX = 1000 /* kept */ };

void document_findings_init(struct document_findings *f, struct arena *arena);

/*
 * Adds a finding. `where` NULL: no line. `path` and `message` are copied, NULL stands for no
 * memory. Without memory the finding is counted only.
 */
void document_find(struct document_findings *f, bool is_error, const char *code, const char *path,
                   const struct node *where, const char *message);

/* The hint of a code; "" for a code that is not in codes.def. */
const char *document_code_hint(const char *code);

#endif
