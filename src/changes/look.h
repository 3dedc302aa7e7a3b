/*
 * changes/look.h - which files of a sandbox's writable mounts changed between two looks.
 *
 *     changes_begin() --> base --changes_look()--> rows, next --changes_adopt()--> base
 *
 * A name counts as changed if its inode, size, mode, owner or ctime differ; of a directory, inode,
 * mode or owner. A program cannot set a ctime. A name whose ctime is so recent that the next write
 * may get the same is compared by its SHA-256.
 *
 * A row: {"event": "added" | "changed" | "removed", "path": inside the sandbox, "kind": "file",
 * "directory", "link", "fifo", "socket", "block" or "character"; and unless removed "mode"; of a
 * file "bytes" and "sha256", or instead of the digest "error": "too_large" (more than the bytes
 * that are left of the bound), "unreadable", "changing" (while it was read); of a link "target"}.
 * Bytes of a path or target that are not UTF-8 make it $'...' with \xNN.
 *
 * Only regular files are read. Nothing is opened through a link, and nothing waits.
 */
#ifndef CARREL_CHANGES_LOOK_H
#define CARREL_CHANGES_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "changes/result.h"
#include "text/json.h"

enum {
        CHANGES_NAMES_MAX = 100 * 1000, /* over all mounts */
        CHANGES_DEPTH_MAX = 128,
        CHANGES_PATH_MAX = 4096,
        CHANGES_BYTES_MAX = 256 << 20, /* read for digests in one look */
        CHANGES_LOOK_MS = 10 * 1000,
        CHANGES_PART_LEN = 32 * 1024, /* a list of rows is passed on when it is so long */
        CHANGES_TICK_MS = 20          /* two writes within it may leave the same ctime */
};

/* A writable mount. All fields are borrowed. */
struct changes_root {
        int fd;             /* the host's directory, or file; -1: it is not there */
        const char *at;     /* where it is inside */
        const char *hidden; /* a path in it that the sandbox sees empty; NULL: none */
        bool is_volume;     /* what it holds is added up */
};

struct changes_look {
        const struct changes_root *roots;
        size_t root_count;
        size_t rows_max;
        uint64_t since_ms; /* wall clock, since 1970: when the commands began */
        /* receives rows (a JSON list, borrowed). `is_by`: they changed since `since_ms`. NULL for
         * changes_begin() */
        int (*part)(void *ctx, bool is_by, const struct json_writer *rows, struct error *e);
        /* asked now and then: should the look end? NULL: no */
        bool (*is_over)(void *ctx);
        void *ctx;
};

struct changes;

/* NULL without memory. */
struct changes *changes_new(void);
void changes_free(struct changes *c); /* accepts NULL */

/* Notes what is there. Errors: ERROR_NO_MEMORY. */
int changes_begin(struct changes *c, const struct changes_look *look, struct changes_result *ret,
                  struct error *e);

/*
 * Passes on what changed since the base. Without one (changes_begin() was not called, or failed),
 * every name with a ctime of `since_ms` or later, as "changed". Errors: ERROR_NO_MEMORY, those of
 * `part`; the base is kept.
 */
int changes_look(struct changes *c, const struct changes_look *look, struct changes_result *ret,
                 struct error *e);

/* What the last look saw is the base of the next one. */
void changes_adopt(struct changes *c);

#endif
