/*
 * changes/message.h - what the keeper and the processes that look for changed files say to each
 * other.
 *
 *     keeper --BEGIN, socket, mounts--> carrel-files --fork--> one process of this sandbox
 *     keeper <--------BEGUN: the base is known---------------- it
 *     keeper ---------LOOK-----------------------------------> it
 *     keeper <--------ROWS, ROWS, ..., DONE------------------- it
 *     keeper ---------ADOPT: they are on their way to the log> it
 *
 * Until ADOPT, another look finds the same changes again. The process ends when its socket closes.
 *
 *     keeper --TREE, socket, workspace--> carrel-files --fork--> a process
 *     keeper <--TREE: the digest------------------------------- it, then it ends
 */
#ifndef CARREL_CHANGES_MESSAGE_H
#define CARREL_CHANGES_MESSAGE_H

#include <stdint.h>

#include "audit/tree.h"
#include "changes/result.h"

/*
 * WIRE_FILES_BEGIN: this, then for each mount two texts with their NUL: where it is inside, and the
 * path in it that the sandbox sees empty, or "". Descriptors: the socket of this sandbox, then a
 * directory or file for each mount.
 */
struct wire_files_begin {
        uint32_t root_count;
        uint32_t has_base; /* 0: the sandbox has run before, and what was there is not known */
        uint64_t volumes[CHANGES_ROOTS_MAX / 64]; /* bit i % 64 of word i / 64: mount i is one */
};

/* WIRE_FILES_BEGUN: struct changes_result of the base; without a base nothing. WIRE_FILES_ADOPT: no
 * body. */

/* WIRE_FILES_LOOK */
struct wire_files_look {
        uint64_t since_ms; /* wall clock: when the commands began */
        uint64_t rows_max;
};

/* WIRE_FILES_ROWS: this, then a JSON list of rows (changes/look.h). */
struct wire_files_rows {
        uint32_t is_by; /* they changed since `since_ms` */
        uint32_t pad;
};

/* WIRE_FILES_DONE: struct changes_result. */

/* WIRE_FILES_TREE: to carrel-files without a body; its answer is this. */
struct wire_files_tree {
        struct audit_tree tree;
        char error[48]; /* "": the digest is known; else the reason (audit/tree.h) */
};

#endif
