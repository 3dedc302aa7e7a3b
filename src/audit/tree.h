/*
 * audit/tree.h - one digest of a directory: names, kinds, permissions, contents and link targets.
 *
 * Not in it: owners, times, extended attributes, and which names are the same file.
 */
#ifndef CARREL_AUDIT_TREE_H
#define CARREL_AUDIT_TREE_H

#include <stdint.h>

#include "audit/entry.h"
#include "base/error.h"

enum { AUDIT_TREE_NAMES_MAX = 100 * 1000, AUDIT_TREE_BYTES_MAX = 1 << 30, AUDIT_TREE_DEPTH = 64 };

struct audit_tree {
        char sha256[AUDIT_HASH_TEXT];
        uint64_t names, bytes;
};

/*
 * Reads the tree at `path`; follows no link inside it. Errors: ERROR_AUDIT_UNAVAILABLE: "too_large"
 * (the bounds above), "other_kind" (neither file, directory nor link), "unreadable".
 */
int audit_tree_read(const char *path, struct audit_tree *ret, struct error *e);

/* The same for an open directory (borrowed; O_PATH is enough). */
int audit_tree_read_fd(int fd, struct audit_tree *ret, struct error *e);

#endif
