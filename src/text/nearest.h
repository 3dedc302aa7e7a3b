/*
 * text/nearest.h - finds the known word that an unknown word probably meant.
 */
#ifndef CARREL_TEXT_NEAREST_H
#define CARREL_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAREST_WORD_MAX = 40 /* letters; a longer word matches none */, NEAREST_FAR = 3 };

/*
 * Counts letters changed, added, left out or swapped with their neighbour, ignoring case; at most
 * NEAREST_FAR, which counts as too many.
 */
size_t nearest_edits(const char *a, const char *b);

/*
 * A search. `found` is NULL until a word is near enough: at most two edits, or the beginning of a
 * longer word. A word of three or four letters may have one edit, a shorter one none.
 */
struct nearest {
        const char *word, *found;
        size_t edits;
};

/* Starts a search. `word` is borrowed until its end. */
struct nearest nearest_begin(const char *word);

/*
 * Compares a known word: is it nearer than all before? `name` (borrowed) is the value that `found`
 * gets.
 */
bool nearest_try(struct nearest *n, const char *known, const char *name);

#endif
