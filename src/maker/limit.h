/*
 * maker/limit.h - other limits for a box that runs, and what it uses of them.
 */
#ifndef CARREL_MAKER_LIMIT_H
#define CARREL_MAKER_LIMIT_H

#include <stddef.h>

#include "plan/pack.h"
#include "wire/message.h"

/*
 * Serves a message of WIRE_LIMIT: struct wire_limit and its packed steps, `len` bytes (8-byte
 * aligned, borrowed). `own`: the plan of the box. Only files that a CGROUP_LIMIT step of this plan
 * has limited are written: a wanted step names one by the last part of its path, and a device by
 * the start of its text. All steps are applied, or none; ret->sys says why. No limit kills: memory
 * that is in use is not taken away.
 */
void limit_serve(const struct plan_view *own, const void *wanted, size_t len,
                 struct wire_limited *ret);

#endif
