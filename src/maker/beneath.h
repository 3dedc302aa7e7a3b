/*
 * maker/beneath.h - opens directories beneath a source, through the source's descriptor.
 */
#ifndef CARREL_MAKER_BENEATH_H
#define CARREL_MAKER_BENEATH_H

#include <stdbool.h>

enum { BENEATH_PATH_ROOM = 4096 };

/*
 * Joins `directory` ("" for the source itself) and a name in it. False if the result is longer than
 * BENEATH_PATH_ROOM.
 */
bool beneath_join(char ret[BENEATH_PATH_ROOM], const char *directory, const char *name);

/*
 * Opens the directory `path` of `source`; `flags` is O_PATH or O_RDONLY. No component may be a
 * symbolic link. Gives a descriptor, which the caller owns, or -errno.
 */
int beneath_open(int source, const char *path, int flags);

#endif
