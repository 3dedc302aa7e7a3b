/*
 * spec/advice.h - the next step after a mistake in a block: which line to write instead.
 *
 * Sentences for error_hint(), with the reader's own names and values unless they are credentials.
 * They live in the judge's arena or are static. NULL: the help in the field's row is the best
 * advice.
 */
#ifndef CARREL_SPEC_ADVICE_H
#define CARREL_SPEC_ADVICE_H

#include "spec/field.h"
#include "spec/judge.h"
#include "text/tree.h"

/*
 * For `member`, whose key no row of `set` has: a field with the same effect, or where that key
 * belongs. NULL for the sets of other files.
 */
const char *advice_key(struct judge *j, const struct field_set *set, const struct node *member);

/*
 * For a value whose type differs from that of `row`, a row of `set`: the same value as that type,
 * or an example.
 */
const char *advice_type(struct judge *j, const struct field_set *set, const struct field *row,
                        const struct node *value);

/* For a value that is not one of the choices of `row`. */
const char *advice_choice(struct judge *j, const struct field *row, const char *text);

/* "`config: {}`": an example for the field `name`; NULL where the tables have none. */
const char *advice_example(struct judge *j, const char *name);

#endif
