/*
 * boxstate/found.h - what commands of a sandbox left in a workspace on which host programs act: the
 * first finds and the last ones, and the number of the others.
 *
 * The box keeps one, which survives a restart of the keeper, and repeats it to each keeper that
 * connects. The first ones stay, so that a payload cannot push them out with later ones.
 */
#ifndef CARREL_BOXSTATE_FOUND_H
#define CARREL_BOXSTATE_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/numbers.h"
#include "wire/box.h"

enum { FOUND_MAX = NUMBER_FOUND_FIRST + NUMBER_FOUND_LAST };

/* All zeros is empty. `items` are owned, in ascending order of their numbers. */
struct found {
        struct wire_box_found *items[FOUND_MAX];
        size_t count;
        uint64_t total; /* number of the last one: all are counted from 1 */
        uint64_t shown; /* those up to this number were shown to the owner */
};

/*
 * Stores a copy, with terminated texts and its flag `shown` taken over. false: its number was known
 * already, or it is number 0. Without memory it is only counted.
 */
bool found_put(struct found *f, const struct wire_box_found *one);

/* Those up to this number were shown. Never fewer than before. */
void found_show(struct found *f, uint64_t number);

/* How many were not shown yet. */
uint64_t found_unshown(const struct found *f);

void found_fini(struct found *f);

#endif
