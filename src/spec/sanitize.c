/*
 * spec/sanitize.c - the kinds of data that are removed from output.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 */
#include "spec/sanitize.h"

unsigned
spec_sanitize_bit(const struct node *name)
{
        for (unsigned i = 0; i < SANITIZE_BITS; i++)
                if (node_is_text(name, sanitize_words[i]))
                        return 1u << i;
        return 0;
}
