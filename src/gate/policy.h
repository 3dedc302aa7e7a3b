/*
 * gate/policy.h - the list of one wall as of the begin of a connection: shared, reference-counted,
 * never changed.
 */
#ifndef CARREL_GATE_POLICY_H
#define CARREL_GATE_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "egress/admit.h"

struct policy {
        struct egress_policy p;
        unsigned refs;
        struct arena arena;
};

/*
 * Reads `allow` texts, then `private_names` texts, each NUL-terminated, `len` bytes in all. NULL:
 * malformed, or no memory.
 */
struct policy *policy_new(const char *texts, size_t len, uint32_t allow, uint32_t private_names,
                          uint32_t generation);

struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p);

#endif
