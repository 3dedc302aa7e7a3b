/*
 * guest/landlock.h - a second, independent restriction: Landlock rules over the finished root, by
 * raw system calls.
 *
 * Source: landlock(7); Linux 5.13 (ABI 1) to 6.15 (ABI 7).
 */
#ifndef CARREL_GUEST_LANDLOCK_H
#define CARREL_GUEST_LANDLOCK_H

#include "plan/step.h"

/* Creates a rule set for this ABI. Returns its descriptor, or -errno. */
int landlock_open(unsigned abi);

/* Permits an access class beneath `path`. 0 or -errno. */
int landlock_allow(int rules, unsigned abi, const char *path, enum step_access access);

/* Applies the rules to the calling process, irrevocably; needs no_new_privs. 0 or -errno. */
int landlock_enter(int rules);

#endif
