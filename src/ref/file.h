/*
 * ref/file.h - reading one file that somebody named: regular, bounded, never waiting.
 *
 * A FIFO, a device, a directory, an endless or a huge file each give an error at once. Files that a
 * workspace names are opened beneath its directory handle and cannot lead out of it.
 */
#ifndef CARREL_REF_FILE_H
#define CARREL_REF_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "manifest/manifest.h"
#include "ref/reads.h"

enum { REF_FILE_MAX = 256 * 1024 }; /* bytes of a manifest */

/*
 * Reads the file at `path` (as the caller's shell would find it; symbolic links are followed) of at
 * most `max` bytes. Gives the bytes, NUL-terminated, in `arena`, and adds the file to `reads`
 * (NULL: it judges nothing), also when it is not found. Errors: ERROR_FILE_UNREADABLE with reason
 * not_found, not_regular, permission, changed or io; ERROR_MANIFEST_SYNTAX "too_large";
 * ERROR_NO_MEMORY.
 */
int ref_file_read(struct arena *arena, const char *path, size_t max, struct ref_reads *reads,
                  const char **ret_bytes, size_t *ret_len, struct error *e);

/*
 * The same for a file at a default place: it must belong to root or to this process's user, and
 * other users must not be able to write it. Errors: as above, and ERROR_FILE_UNREADABLE
 * "untrusted".
 */
int ref_file_read_trusted(struct arena *arena, const char *path, size_t max,
                          struct ref_reads *reads, const char **ret_bytes, size_t *ret_len,
                          struct error *e);

/*
 * The same for a relative path below the directory `dir`. Symbolic links are followed only where
 * the kernel can promise that they stay below (openat2); elsewhere they are refused. Errors: as
 * above, and ERROR_REF_UNRESOLVABLE "outside_workspace".
 */
int ref_file_read_beneath(struct arena *arena, int dir, const char *path, size_t max,
                          struct ref_reads *reads, const char **ret_bytes, size_t *ret_len,
                          struct error *e);

struct ref_manifest_file {
        const char *name; /* as it was found, for people */
        const char *bytes;
        size_t len;
        enum manifest_kind kind;
        enum manifest_syntax syntax;
};

/* Reads the manifest named on a command line. WORKSPACE.md is a parent; NAME.json and NAME.yaml
 * hold the block alone; everything else is a standalone SANDBOX.md. Errors: as ref_file_read(). */
int ref_manifest_open(struct arena *arena, const char *path, struct ref_reads *reads,
                      struct ref_manifest_file *ret, struct error *e);

/*
 * Finds the manifest of a workspace directory: SANDBOX.md, else a WORKSPACE.md with a `sandbox`
 * key. Errors: ERROR_WORKSPACE_NOT_FOUND, ERROR_NOT_CONFIGURED with a hint that shows a whole
 * SANDBOX.md, and as ref_file_read_beneath().
 */
int ref_manifest_find(struct arena *arena, const char *workspace, struct ref_reads *reads,
                      struct ref_manifest_file *ret, struct error *e);

/* ERROR_WORKSPACE_NOT_FOUND for a workspace that open() refused with the errno value `sys`, with
 * what to do about it. Always returns -1. */
int ref_workspace_refuse(const char *workspace, int sys, struct error *e);

#endif
