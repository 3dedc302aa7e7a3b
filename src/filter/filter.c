/*
 * filter/filter.c - the generated filters, under their names.
 *
 * Room: filter (words). Touches: nothing.
 * Theory: each is a constant of about 1.5 KiB; calls.def decides its content at build time.
 */
#include "filter/filter.h"

#include "filter/filter_default.h"
#include "filter/filter_nounix.h"
#include "filter/filter_one_id.h"
#include "filter/filter_one_id_nounix.h"
#include "filter/filter_root.h"
#include "filter/filter_root_nounix.h"

#define COUNT(steps) ((unsigned short)(sizeof(steps) / sizeof((steps)[0])))
#define PROGRAM(name)                                                                \
        _Static_assert(sizeof name##_steps / sizeof name##_steps[0] <= BPF_MAXINSNS, \
                       "the kernel's limit");                                        \
        const struct filter_program name = { name##_steps, COUNT(name##_steps) }

PROGRAM(filter_default);
PROGRAM(filter_nounix);
PROGRAM(filter_root);
PROGRAM(filter_root_nounix);
PROGRAM(filter_one_id);
PROGRAM(filter_one_id_nounix);
