/*
 * text/nearest.c - the edit distance of two words, and the nearest of many.
 *
 * Room: text (words). Touches: nothing.
 * Theory: the table of optimal string alignment, three rows of it at a time.
 */
#include "text/nearest.h"

#include <string.h>

enum { BEGINNING_MIN = 5 };

static char
lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t
least(size_t a, size_t b)
{
        return a < b ? a : b;
}

size_t
nearest_edits(const char *a, const char *b)
{
        size_t rows[3][NEAREST_WORD_MAX + 1], a_len = strlen(a), b_len = strlen(b);

        if (a_len > NEAREST_WORD_MAX || b_len > NEAREST_WORD_MAX)
                return NEAREST_FAR;
        for (size_t k = 0; k <= b_len; k++)
                rows[0][k] = k;
        for (size_t i = 1; i <= a_len; i++) {
                size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];

                row[0] = i;
                for (size_t k = 1; k <= b_len; k++) {
                        bool is_same = lower(a[i - 1]) == lower(b[k - 1]);

                        row[k] = least(above[k - 1] + !is_same, least(above[k], row[k - 1]) + 1);
                        if (i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) &&
                            lower(a[i - 2]) == lower(b[k - 1]))
                                row[k] = least(row[k], before[k - 2] + 1);
                }
        }
        return least(rows[a_len % 3][b_len], NEAREST_FAR);
}

struct nearest
nearest_begin(const char *word)
{
        size_t len = strlen(word);

        return (struct nearest){ .word = word, .edits = len > 4 ? 3 : len > 2 ? 2 : 1 };
}

bool
nearest_try(struct nearest *n, const char *known, const char *name)
{
        size_t edits = nearest_edits(n->word, known), len = strlen(n->word);

        /* the beginning of it: `timeout` for `timeout_ms` */
        if (edits == NEAREST_FAR && len >= BEGINNING_MIN && strncmp(n->word, known, len) == 0)
                edits = NEAREST_FAR - 1;
        if (edits >= n->edits)
                return false;
        n->edits = edits;
        n->found = name;
        return true;
}
