/*
 * cli/doc_facts.h - what is known here of a sandbox, as parts of its document.
 */
#ifndef CARREL_CLI_DOC_FACTS_H
#define CARREL_CLI_DOC_FACTS_H

#include "cli/doc_probe.h"
#include "cli/prepare.h"
#include "document/assemble.h"

enum { DOC_PARTS_MAX = 64 };

struct doc_facts {
        struct arena *arena;
        const struct run_way *way; /* prepared */
        const struct doc_probe *probe;
        uint64_t starts;
        struct document_part items[DOC_PARTS_MAX];
        size_t count;
        const char *why_replay; /* why sessions can, or cannot, be replayed; after the first call */
};

/*
 * Fills the parts that the plan, the provider table and a recorded probe give. Errors: those of
 * doc_streams_try().
 */
int doc_facts_collect(struct doc_facts *f, struct error *e);

/*
 * Adds what takes time: measured cold starts, and the installed packages with the versions that
 * interpreters say in a sandbox. Errors: those of doc_probe_run(), ERROR_BACKEND_FAILED if a start
 * fails, ERROR_QUOTA_EXCEEDED for too many packages.
 */
int doc_facts_try(struct doc_facts *f, struct error *e);

/* The cold starts alone: sorted, `count` of them, in microseconds, in the arena. */
int doc_facts_measure(struct arena *arena, const struct doc_probe *probe, uint64_t count,
                      const uint64_t **ret_us, struct error *e);

/* The value at a percentile, 1 to 100, of sorted times; `count` at least 1. In milliseconds. */
double doc_facts_percentile(const uint64_t *sorted_us, uint64_t count, unsigned percentile);

/* The control that is on if output is sanitised of every kind (text/sanitize.h). */
#define DOC_SANITIZATION "output_sanitization"

/* Controls that the steps of a plan switch on: name of the index-th, or NULL past the last. */
const char *doc_facts_control(const struct plan *plan, size_t index);

#endif
