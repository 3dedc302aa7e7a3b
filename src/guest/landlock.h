/*
 * guest/landlock.h - a second, independent restriction: Landlock rules over the finished root, of
 * which every right is handled (seal/landlock.h).
 */
#ifndef CARREL_GUEST_LANDLOCK_H
#define CARREL_GUEST_LANDLOCK_H

#include "plan/step.h"

/* Creates a rule set for this ABI. Returns its descriptor, or -errno. */
int landlock_open(unsigned abi);

/* Permits an access class beneath `path`. 0 or -errno. */
int landlock_allow(int rules, unsigned abi, const char *path, enum step_access access);

#endif
