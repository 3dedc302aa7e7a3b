/*
 * maker/first.h - the first process of a box, from its clone until it is pid 1, or the relay.
 */
#ifndef CARREL_MAKER_FIRST_H
#define CARREL_MAKER_FIRST_H

#include <stdbool.h>

#include "maker/host.h"

/*
 * Does the steps after h->done on this process, and serves the keeper on `control` as pid 1, or as
 * the relay to it. `is_living`: a spawner started it, and the keeper hears when it is ready. The
 * first step that fails is reported to the keeper (WIRE_BOX_FAILED). Drops the plan at h->packed,
 * WIRE_BODY_MAX bytes from the start of a page.
 */
_Noreturn void first_run(const struct host *h, int control, bool is_living);

#endif
