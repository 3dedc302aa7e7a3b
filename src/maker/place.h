/*
 * maker/place.h - resolves names beneath the new root, component by component and never through a
 * symbolic link.
 */
#ifndef CARREL_MAKER_PLACE_H
#define CARREL_MAKER_PLACE_H

/*
 * Opens (O_PATH) the object at the absolute `path` beneath `root`. -errno; -ELOOP if a component is
 * a symbolic link.
 */
int place_open(int root, const char *path);

/* Opens the parent directory of `path`. ret_name receives the last component. */
int place_open_parent(int root, const char *path, const char **ret_name);

#endif
