/*
 * cli/doc.h - what the actions of `carrel doc` share.
 */
#ifndef CARREL_CLI_DOC_H
#define CARREL_CLI_DOC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/options.h"
#include "document/check.h"
#include "text/json.h"

struct doc_asked {
        const char *profile, *risk;                           /* check, admit */
        struct option_list destinations, operations, elapsed; /* admit */
        const char *file, *workspace, *host_file;             /* generate, verify: of the sandbox */
        const char *config, *format;                          /* generate */
        const char *log;   /* a state directory of its own, or NULL */
        const char *walls; /* a manifest of its own, or NULL: doc_rules.h */
        const char *only;  /* verify: a path or a section; NULL: all */
        uint64_t starts;   /* 0: the default */
        bool is_audited, keeps_output, is_scaled;
        bool is_literal, is_json;
        struct words words;
        struct arena arena;
};

/* What people see of findings, and the members "errors" and "warnings" of an open map. */
void doc_findings_print(FILE *out, const char *file, const struct document_findings *f);
void doc_findings_write(struct json_writer *w, const struct document_findings *f);

/* Reads the document that the words name at `index`. Errors: as ref_file_read(), document_read().
 */
int doc_read(struct doc_asked *a, size_t index, const struct node **ret, struct error *e);

/* The actions: each returns the exit status. */
int doc_check(struct doc_asked *a);
int doc_review(struct doc_asked *a);
int doc_admit(struct doc_asked *a);
int doc_generate(struct doc_asked *a);
int doc_verify(struct doc_asked *a);

#endif
