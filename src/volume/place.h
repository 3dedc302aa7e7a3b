/*
 * volume/place.h - the directory of one owner's volumes, by handle.
 */
#ifndef CARREL_VOLUME_PLACE_H
#define CARREL_VOLUME_PLACE_H

#include <dirent.h>
#include <stdbool.h>

/* Opens it and holds its lock until it is closed. `makes`: it is made where it is missing, with what leads to it. A descriptor, or -errno as volume_hold(). */
int place_lock(const char *directory, bool makes);

/* A directory by one name, through no link. `flags`: O_PATH or 0. A descriptor or -errno. */
int place_into(int dir, const char *name, int flags);

/* What `dir` holds; `dir` is borrowed. NULL: it cannot be read. */
DIR *place_entries(int dir);

#endif
