/*
 * maker/beneath.h - directories beneath a source, opened through its descriptor.
 */
#ifndef CARREL_MAKER_BENEATH_H
#define CARREL_MAKER_BENEATH_H

#include <stdbool.h>

enum { BENEATH_PATH_ROOM = 4096 };

/* `directory` ("": the source itself) and a name in it. False: longer than the room. */
bool beneath_join(char ret[BENEATH_PATH_ROOM], const char *directory, const char *name);

/* A descriptor of the directory `path` of `source` (`flags`: O_PATH, or O_RDONLY), owned by the caller, or -errno; no link is followed, on the way neither. */
int beneath_open(int source, const char *path, int flags);

#endif
