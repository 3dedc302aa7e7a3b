/*
 * maker/place.h - resolves names beneath the new root, component by component. Links are followed
 * only in an image, as long as nothing of a user is attached, and never lead out of the root.
 */
#ifndef CARREL_MAKER_PLACE_H
#define CARREL_MAKER_PLACE_H

#include <sys/types.h>

enum place_links { PLACE_NO_LINKS = 1, PLACE_LINKS = 2 };

/*
 * Opens (O_PATH) the object at the absolute `path` beneath `root`. -errno; -ELOOP if a component is
 * a symbolic link. With PLACE_LINKS links are followed, where `root` is "/" and ".." ends; without
 * openat2 they give -ELOOP all the same.
 */
int place_open(int root, const char *path, enum place_links links);

/* Opens the parent directory of `path`. ret_name receives the last component. */
int place_open_parent(int root, const char *path, enum place_links links, const char **ret_name);

/*
 * Makes the directory `path`, which is `name` in `parent`. With PLACE_LINKS a link there that leads
 * to nothing is replaced. -EEXIST: something is there.
 */
int place_make_directory(int root, const char *path, enum place_links links, int parent,
                         const char *name, mode_t mode);

#endif
