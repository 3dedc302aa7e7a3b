/*
 * maker/place.h - names beneath the new root, resolved piece by piece and never through a symbolic link.
 */
#ifndef CARREL_MAKER_PLACE_H
#define CARREL_MAKER_PLACE_H

/* Opens (O_PATH) what stands at the absolute `path` beneath `root`. -errno; -ELOOP where a piece is a symbolic link. */
int place_open(int root, const char *path);

/* Opens the directory that would hold `path` and gives the last piece of the name. */
int place_open_parent(int root, const char *path, const char **ret_name);

#endif
