/*
 * spec/advice.h - the next step after a mistake in a block: which line to write instead.
 *
 * Sentences for error_hint(), with the reader's own names and values unless they are credentials.
 * They are in the judge's `advice`.
 */
#ifndef CARREL_SPEC_ADVICE_H
#define CARREL_SPEC_ADVICE_H

#include "spec/field.h"

/*
 * key: a field with the same effect, or where that key belongs; NULL for the sets of other files.
 * type: the same value as that type, or an example. choice: the nearest one.
 */
extern const struct field_advice advice_of_block;

#endif
