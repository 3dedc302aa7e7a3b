/*
 * keeper/limits.h - maximum size of a manifest, for every file of this room that reads one.
 */
#ifndef CARREL_KEEPER_LIMITS_H
#define CARREL_KEEPER_LIMITS_H

#include "text/limits.h"

enum { LIMITS_TREE_MEMORY = 4 << 20 };

static const struct text_limits limits_manifest = { .bytes_max = 256 << 10,
                                                    .depth_max = 32,
                                                    .nodes_max = 16384 };

#endif
