/*
 * text/yaml.h - reads YAML 1.2 (core schema, one document) into a tree. Scanner: libyaml; composer:
 * ours.
 *
 * Refused with ERROR_MANIFEST_SYNTAX and a reason: "yaml" (the scanner's own error, bytes that are
 * not UTF-8, a byte order mark, NUL), "duplicate_key", "alias_forbidden" (anchors too),
 * "tag_forbidden", "merge_key", "non_string_key", "multi_document", "empty", "too_large" (bytes,
 * depth or nodes past the limits). Plain scalars follow the core schema alone: `yes`, `no`, `on`,
 * `012`, `1_000`, `0x1F` mean what YAML 1.2 says. Sources: AIP-36 cases A36-010, 012-017;
 * yaml.org/spec/1.2.2 chapter 10.3.
 */
#ifndef CARREL_TEXT_YAML_H
#define CARREL_TEXT_YAML_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/limits.h"
#include "text/tree.h"

/*
 * Reads `len` bytes. `first_line` is the 1-based line of the first byte within its file, so that
 * places are right for front matter. Borrows `bytes`; the tree lives in `arena`. Gives the root
 * through ret_root. Errors: as above, and ERROR_NO_MEMORY.
 */
int yaml_read(struct arena *arena, const char *bytes, size_t len, unsigned first_line,
              const struct text_limits *limits, const struct node **ret_root, struct error *e);

#endif
