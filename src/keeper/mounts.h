/*
 * keeper/mounts.h - the writable mounts of a sandbox, for the process that looks for changed files.
 *
 * The file "mounts" in the directory of its box says what a later keeper opens again: a mount whose
 * path leads to another inode by then is not it.
 */
#ifndef CARREL_KEEPER_MOUNTS_H
#define CARREL_KEEPER_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "keeper/keeper.h"
#include "sources/sources.h"

struct mount {
        int fd; /* owned */
        const char *at, *hidden, *path;
};

struct mounts {
        size_t count;
        struct mount items[SOURCES_MAX];
        char *memory; /* of the texts; NULL: they are borrowed */
};

enum mounts_state {
        MOUNTS_READY,
        MOUNTS_LATER, /* a volume does not exist yet */
        MOUNTS_FAILED /* cannot be opened, or are not the same any more */
};

/* Call mounts_fini() in any case. The texts of `sources` are borrowed. */
enum mounts_state mounts_of(const struct sources *sources, struct mounts *ret);

/* Writes the file in the directory of its box. 0 or -1. */
int mounts_save(struct keeper *k, const char *id, const struct mounts *m);

/* Opens what the file names. Call mounts_fini() in any case. */
enum mounts_state mounts_load(struct keeper *k, const char *id, struct mounts *ret);

bool mounts_is_volume(const struct keeper *k, const struct mount *m);

void mounts_fini(struct mounts *m);

#endif
