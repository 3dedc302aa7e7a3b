/*
 * boxstate/refusals.h - what was refused, command by command: the first different things with how
 * often each, and the number of all other refusals.
 *
 *     nothing --refusals_add--> an account of the exec --refusals_end--> its list may give way to
 * others --refusals_forget--> nothing
 *
 * No refusal is lost from the numbers: the counts of what is listed and `more` together are all
 * that were added. Memory is bounded: at most `held_max` things are listed for all execs together.
 * Counts stay at UINT64_MAX once they are there.
 */
#ifndef CARREL_BOXSTATE_REFUSALS_H
#define CARREL_BOXSTATE_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/numbers.h"
#include "wire/gate.h"

/* One thing: as it was refused the first time, and how often; changed last as of this version. */
struct refusal {
        struct wire_wall_denied d;
        uint64_t count, version;
};

/* The account of one exec (0: of all of which it is not known whose they were). */
struct refused {
        struct refused *next;
        struct refusal *items;
        size_t count, room; /* in the order in which each came first */
        uint64_t more;      /* refusals of other things */
        uint64_t version;   /* as of which `more` or the number of things changed last */
        uint32_t exec;
        bool is_over; /* the exec has ended */
};

struct refusals {
        struct refused *first;     /* the newest */
        size_t held;               /* things, of all of them */
        size_t each_max, held_max; /* of one exec, and of all */
        uint64_t total;            /* refusals */
        uint64_t version;          /* grows with each change */
};

/* Is it the same request, of any exec and at any time? */
bool refusal_is_same(const struct wire_wall_denied *a, const struct wire_wall_denied *b);

/* a + b, and never less than either. */
uint64_t refusals_sum(uint64_t a, uint64_t b);

void refusals_init(struct refusals *r, size_t each_max, size_t held_max);
void refusals_fini(struct refusals *r); /* accepts a zeroed one */

/* Counts so many of which nothing else is known. */
void refusals_miss(struct refusals *r, uint64_t count);

/* Counts d->count of it. */
void refusals_add(struct refusals *r, uint32_t exec, const struct wire_wall_denied *d);

/* Writes down what somebody else counted: that so many things are listed, with `more` beyond, and
 * the thing at `at`, where at < kept. What does not fit is left out of the list. */
void refusals_set(struct refusals *r, uint32_t exec, size_t kept, uint64_t more, size_t at,
                  const struct wire_wall_denied *d, uint64_t count);

/* The account of this exec, NULL: nothing was refused to it. */
struct refused *refusals_find(const struct refusals *r, uint32_t exec);

/* All refusals of an account; NULL: 0. */
uint64_t refusals_count(const struct refused *of);

void refusals_end(struct refusals *r, uint32_t exec);
void refusals_forget(struct refusals *r, uint32_t exec);

#endif
