/*
 * plan/failure.h - a step that failed, in words.
 */
#ifndef CARREL_PLAN_FAILURE_H
#define CARREL_PLAN_FAILURE_H

#include <stddef.h>

#include "base/error.h"
#include "plan/plan.h"

/*
 * Writes why step number `step` of the plan failed (`sys`: errno), so that the author of the
 * manifest knows what to change. UINT32_MAX: the maker did not understand the plan. Always returns
 * -1.
 */
int plan_step_failed(struct error *e, const struct plan *plan, size_t step, int sys);

#endif
