/*
 * sources/begin.h - the message that begins a box (wire/box.h).
 */
#ifndef CARREL_SOURCES_BEGIN_H
#define CARREL_SOURCES_BEGIN_H

#include <stddef.h>

#include "base/error.h"
#include "plan/plan.h"
#include "sources/sources.h"
#include "wire/box.h"

/*
 * Writes WIRE_BOX_BEGIN to `out` (WIRE_BODY_MAX bytes, aligned to 8): `begin`, with the
 * free space that the plan wants and the writable ones of the sources, then the packed plan.
 * Sources may be NULL: none. Returns its length; 0: an error, ERROR_QUOTA_EXCEEDED.
 */
size_t begin_write(struct wire_box_begin begin, const struct plan *plan,
                   const struct sources *sources, unsigned char *out, struct error *e);

#endif
