/*
 * volume/place.h - opens the directory of one owner's volumes, by handle.
 */
#ifndef CARREL_VOLUME_PLACE_H
#define CARREL_VOLUME_PLACE_H

#include <dirent.h>
#include <stdbool.h>

/*
 * Opens the directory and locks it until the descriptor is closed. `makes`: creates it and its
 * parents if missing. Gives a descriptor, or -errno as volume_hold().
 */
int place_lock(const char *directory, bool makes);

/*
 * Opens a directory by a single name, through no link. `flags`: O_PATH or 0. Gives a descriptor or
 * -errno.
 */
int place_into(int dir, const char *name, int flags);

/*
 * Opens a directory whose access a payload may have removed, after adding the mode bits `needs` to
 * it: by its handle, never by a name that could be a link by then. Gives a descriptor or -errno.
 */
int place_open_up(int dir, const char *name, unsigned needs);

/* Opens `dir` (borrowed) for listing. NULL: it cannot be read. */
DIR *place_entries(int dir);

#endif
