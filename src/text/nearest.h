/*
 * text/nearest.h - which known word was probably meant by one that is not known.
 */
#ifndef CARREL_TEXT_NEAREST_H
#define CARREL_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAREST_WORD_MAX = 40 /* letters; longer words are near nothing */, NEAREST_FAR = 3 };

/* Letters changed, added, left out or swapped with their neighbour, letter case apart; at most NEAREST_FAR, which is too many. */
size_t nearest_edits(const char *a, const char *b);

/*
 * A search. `found` is NULL as long as nothing is near enough: two edits, or the beginning of a longer word; in a word of up to four letters
 * one edit, none in one of two.
 */
struct nearest { const char *word, *found; size_t edits; };

/* Begins a search. `word` is borrowed for as long. */
struct nearest nearest_begin(const char *word);

/* Looks at a known word: is it nearer than all before? `name` (borrowed) is what `found` becomes. */
bool nearest_try(struct nearest *n, const char *known, const char *name);

#endif
