/*
 * prepare/verdict.h - all stages from the bytes of a manifest to the verdict.
 *
 * The stages are parse -> validate -> resolve -> authorise; each uses the result of the one before.
 * `carrel check`, `carrel conformance` and `carrel run` share them; the keeper runs the last ones
 * (prepare/prepare.h).
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
        struct host_rules *rules; /* an inventory may be added */
        struct ref_reader reader;
        int64_t now_s; /* seconds since 1970 */
        const char *const *overrides;
        size_t override_count; /* of this run: manifest/override.h */
};

struct verdict {
        struct manifest written; /* the file itself */
        struct manifest found;   /* after following its reference; found.block is NULL until then */
        const struct spec *spec; /* checked; NULL before validate, or if there is no block yet */
        const struct spec *allowed; /* result of authorise(); NULL before */
};

/*
 * Runs the stages up to `stage`. `host` may be NULL up to validate. All messages go to `findings`;
 * the first error is copied to *e. A parent that declares no sandbox is no error here: written.form
 * is MANIFEST_NONE.
 */
int verdict_reach(struct arena *arena, const struct ref_manifest_file *file,
                  enum verdict_stage stage, const struct verdict_host *host, struct verdict *ret,
                  struct findings *findings, struct error *e);

/*
 * Two single stages, for a caller that has a tree and reads nothing: v->found.block to v->spec, and
 * v->spec to v->allowed.
 */
int verdict_check(struct arena *arena, struct verdict *v, struct findings *findings,
                  struct error *e);
int verdict_allow(struct arena *arena, const struct host_rules *rules, int64_t now_s,
                  struct verdict *v, struct findings *findings, struct error *e);

/*
 * "parse", "validate", "resolve", "authorise". verdict_stage_find() returns -1 for any other word.
 */
const char *verdict_stage_name(enum verdict_stage stage);
int verdict_stage_find(const char *name);

/*
 * Writes the normal form as far as it is known: the spec's, else {configured: false} or {form,
 * resolved: false}.
 */
void verdict_norm_write(struct json_writer *w, const struct verdict *v);

#endif
