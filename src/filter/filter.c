/*
 * filter/filter.c - the generated filters, under their names.
 *
 * Room: filter (words). Touches: nothing.
 * Theory: each is a constant of about 1.5 KiB; calls.def decides its content at build time.
 */
#include "filter/filter.h"

#include "filter/filter_default.h"
#include "filter/filter_nounix.h"

#define COUNT(steps) ((unsigned short)(sizeof(steps) / sizeof((steps)[0])))

_Static_assert(sizeof filter_default_steps / sizeof filter_default_steps[0] <= BPF_MAXINSNS,
               "the kernel's limit");
_Static_assert(sizeof filter_nounix_steps / sizeof filter_nounix_steps[0] <= BPF_MAXINSNS,
               "the kernel's limit");

const struct filter_program filter_default = { filter_default_steps, COUNT(filter_default_steps) };
const struct filter_program filter_nounix = { filter_nounix_steps, COUNT(filter_nounix_steps) };
