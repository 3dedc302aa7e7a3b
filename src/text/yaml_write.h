/*
 * text/yaml_write.h - writes a tree as YAML. Emitter: libyaml.
 *
 * A text is quoted where a reader of YAML 1.2 or 1.1 would take it for something else ("yes",
 * "012", "null"). yaml_read() gives the same tree again, apart from places.
 */
#ifndef CARREL_TEXT_YAML_WRITE_H
#define CARREL_TEXT_YAML_WRITE_H

#include "base/buffer.h"
#include "base/error.h"
#include "text/tree.h"

/*
 * Adds the text to `out`, at most `max` bytes in all. The tree is borrowed, and at most as deep as
 * a reader's limits. Errors: ERROR_NO_MEMORY, also if it is longer.
 */
int yaml_write(const struct node *root, struct buffer *out, size_t max, struct error *e);

#endif
