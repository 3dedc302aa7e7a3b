/*
 * guest/harden.h - the GUEST steps: what pid 1 does to itself, so that every payload inherits it.
 */
#ifndef CARREL_GUEST_HARDEN_H
#define CARREL_GUEST_HARDEN_H

#include "plan/step.h"

struct harden {
        int rules;                 /* Landlock rules under construction, -1 before the first */
        unsigned landlock_abi;     /* of the LANDLOCK step, looked up ahead: rules are made for it */
};

/* Does one step of the GUEST phase. 0 or -errno; -ENOTSUP for a step of another phase. */
int harden_step(struct harden *h, const struct step *s);

#endif
