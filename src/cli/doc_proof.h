/*
 * cli/doc_proof.h - a proof of a document: what one row of `carrel doc verify` works with.
 */
#ifndef CARREL_CLI_DOC_PROOF_H
#define CARREL_CLI_DOC_PROOF_H

#include "cli/doc.h"
#include "cli/doc_facts.h"

enum doc_result { DOC_PROVEN, DOC_REFUTED, DOC_OUTSIDE, DOC_REMARK, DOC_RESULTS };

extern const char *const doc_result_words[];

struct doc_proving {
        struct doc_asked *a;
        struct run_way *way;
        struct doc_probe probe; /* not recorded */
        struct doc_facts *facts;
        const struct node *doc;
        struct json_writer json;
        size_t counts[DOC_RESULTS];
        struct error broken; /* a probe that could not run: the first one; code NONE: none */
};

/* Reports one result about the claim at `path`, and counts it. Text is cut at 511 bytes. */
void doc_say(struct doc_proving *p, enum doc_result result, const char *path, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/*
 * Runs a command, or a script of /bin/sh with one argument, in a sandbox of its own. Returns its
 * standard output, in the arena; "" if it could not run, which is noted in p->broken.
 */
const char *doc_output(struct doc_proving *p, const struct doc_probe *probe,
                       const char *const *command, struct doc_probed *ret);
const char *doc_shell(struct doc_proving *p, const char *script, const char *argument,
                      struct doc_probed *ret);

/* Is there a whole line equal to `line`? */
bool doc_has_line(const char *text, const char *line);

/* The outcome of a probe, a word of outcome.def; "" if there is none. */
const char *doc_ending(const struct doc_probed *done);

/* The value that is decided or measured here for a path, in the arena; NULL: none. */
const struct node *doc_part(struct doc_proving *p, const char *path);

/* A value as one line of JSON, in the arena. */
const char *doc_shown(struct doc_proving *p, const struct node *n);

/* Proofs: each reports at least one result about `claim`, the value at `path`. */
typedef void doc_proof(struct doc_proving *p, const char *path, const struct node *claim);

doc_proof doc_prove_same;     /* equal to what is decided here */
doc_proof doc_prove_identity; /* the same, if the manifest names it; else the operator's */
doc_proof doc_prove_outside;  /* nothing here can prove it */
doc_proof doc_prove_none;     /* an empty list */

doc_proof doc_prove_root, doc_prove_writable, doc_prove_fixed; /* doc_prove_files.c */
doc_proof doc_prove_egress, doc_prove_default, doc_prove_dns;  /* doc_prove_network.c */
doc_proof doc_prove_cpu, doc_prove_memory, doc_prove_disk, doc_prove_tasks; /* doc_prove_limits.c */
doc_proof doc_prove_timeouts;                                               /* doc_prove_times.c */
doc_proof doc_prove_start, doc_prove_packages;                              /* doc_prove_tools.c */
doc_proof doc_prove_allowed, doc_prove_disallowed, doc_prove_people,
        doc_prove_gpu;                                          /* doc_prove_rules.c */
doc_proof doc_prove_controls, doc_prove_streams, doc_prove_log; /* doc_prove_controls.c */

doc_proof doc_prove_replay;  /* doc_prove_controls.c */
doc_proof doc_prove_servers; /* doc_prove_servers.c */

/* Each entry of an allow list, tried; and what is beside it. */
void doc_prove_destinations(struct doc_proving *p, const char *path, const struct node *list);

/* The control `name`: a command does not start without a person's answer. */
void doc_prove_gate(struct doc_proving *p, const char *path, const char *name);

#endif
