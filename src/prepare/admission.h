/*
 * prepare/admission.h - may a sandbox be created for work of this risk?
 *
 * Source: Geodocs "How agents consume this doc", rule 1: low risk needs T1, medium T3, high T4.
 */
#ifndef CARREL_PREPARE_ADMISSION_H
#define CARREL_PREPARE_ADMISSION_H

#include "base/error.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * `risk`: "low", "medium" or "high"; NULL: the caller states none, which passes unless the host
 * file says `risk: required`. Decides as document_admit() does, over the tier that `carrel doc
 * generate` publishes for this sandbox's provider; a provider without a known tier never passes.
 * Errors: ERROR_INVALID_ARGUMENT (another word); ERROR_DOCUMENT_DENIED, whose reason is the
 * finding: "refuse:tier", or "risk_required".
 */
int admission_check(const struct host_rules *rules, const struct spec *spec, const char *risk,
                    struct error *e);

#endif
