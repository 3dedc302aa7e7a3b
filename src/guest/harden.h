/*
 * guest/harden.h - the GUEST steps: restrictions that pid 1 applies to itself, so that every
 * payload inherits them.
 */
#ifndef CARREL_GUEST_HARDEN_H
#define CARREL_GUEST_HARDEN_H

#include "guest/executions.h"
#include "plan/step.h"

struct harden {
        int rules;             /* Landlock rules under construction, -1 before the first */
        unsigned landlock_abi; /* of the LANDLOCK step, read in advance: the rules are built for
                                * it */
        struct executions_asked asked; /* of the filter steps */
};

/* Applies one step of the GUEST phase. 0 or -errno; -ENOTSUP for a step of another phase. */
int harden_step(struct harden *h, const struct step *s);

#endif
