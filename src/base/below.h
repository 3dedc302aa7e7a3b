/*
 * base/below.h - is a path below a directory? By its text alone: nothing is looked up, and a caller
 * for whom `..`, links or doubled slashes matter resolves them before.
 */
#ifndef CARREL_BASE_BELOW_H
#define CARREL_BASE_BELOW_H

/*
 * The rest of `path` below the directory `top`, without slashes before it: "" if they are the same,
 * NULL if it is not below. `top` may end in slashes; "/" is above every absolute path. Both may be
 * relative, to the same directory. The result points into `path`.
 */
const char *path_below(const char *path, const char *top);

#endif
