/*
 * spec/sanitize.c - the kinds of data that are removed from output.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 */
#include "spec/sanitize.h"

const char *const spec_sanitize_words[] = {
#define SANITIZE(name, help) #name,
#include "text/sanitize.def"
#undef SANITIZE
        NULL
};

unsigned
spec_sanitize_bit(const struct node *name)
{
        for (unsigned i = 0; i < SANITIZE_BITS; i++)
                if (node_is_text(name, spec_sanitize_words[i]))
                        return 1u << i;
        return 0;
}
