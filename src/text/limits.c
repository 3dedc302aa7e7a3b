/*
 * text/limits.c - how large a text may be that is read into a tree.
 *
 * Room: text (words). Touches: nothing.
 */
#include "text/limits.h"

const struct text_limits text_limits_manifest = {
        .bytes_max = 256 * 1024,
        .depth_max = 32,
        .nodes_max = 16384,
};
