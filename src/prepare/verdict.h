/*
 * prepare/verdict.h - the whole way from the bytes of a manifest to the answer, stage by stage.
 *
 * parse -> validate -> resolve -> authorise, each with what the one before gave. `carrel check`, `carrel conformance` and
 * `carrel run` walk the same way; the keeper walks its end (prepare/prepare.h).
 */
#ifndef CARREL_PREPARE_VERDICT_H
#define CARREL_PREPARE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "policy/host_rules.h"
#include "ref/file.h"
#include "ref/resolve.h"
#include "spec/spec.h"
#include "text/json.h"

enum verdict_stage { VERDICT_PARSE, VERDICT_VALIDATE, VERDICT_RESOLVE, VERDICT_AUTHORISE };

struct verdict_host {
        struct host_rules *rules;       /* an inventory may be added to them */
        struct ref_reader reader;
        int64_t now_s;                  /* seconds since 1970 */
        const char *const *overrides;  size_t override_count;  /* of one run: manifest/override.h */
};

struct verdict {
        struct manifest written;        /* the file itself */
        struct manifest found;          /* after following its reference; found.block is NULL while it was not followed */
        const struct spec *spec;        /* checked; NULL before validate or where there is no block yet */
        const struct spec *allowed;     /* what authorise() gave; NULL before */
};

/*
 * Walks up to `stage`. `host` may be NULL up to validate. Everything said goes to `findings`; the first error is copied
 * to *e. A parent that declares no sandbox is no error here: written.form is MANIFEST_NONE.
 */
int verdict_reach(struct arena *arena, const struct ref_manifest_file *file, enum verdict_stage stage,
                  const struct verdict_host *host, struct verdict *ret, struct findings *findings, struct error *e);

/* Two stages by themselves, for who has a tree and reads nothing: v->found.block to v->spec, and that to v->allowed. */
int verdict_check(struct arena *arena, struct verdict *v, struct findings *findings, struct error *e);
int verdict_allow(struct arena *arena, const struct host_rules *rules, int64_t now_s, struct verdict *v, struct findings *findings, struct error *e);

/* "parse", "validate", "resolve", "authorise"; find answers -1 for any other word. */
const char *verdict_stage_name(enum verdict_stage stage);
int verdict_stage_find(const char *name);

/* Writes the normal form as far as it is known: that of the spec, else {configured: false} or {form, resolved: false}. */
void verdict_norm_write(struct json_writer *w, const struct verdict *v);

#endif
