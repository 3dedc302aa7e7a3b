/*
 * spec/path.h - normalises paths as authors write them. It works on text only and reads no file
 * system.
 *
 * "//" and "." collapse, and a trailing "/" is dropped. ".." is refused, never resolved, because
 * its meaning depends on symbolic links, which are not read here. Source: AIP-36 "Mounts", cases
 * A36-123 to 127.
 */
#ifndef CARREL_SPEC_PATH_H
#define CARREL_SPEC_PATH_H

#include <stdbool.h>

#include "base/arena.h"

enum path_fault {
        PATH_GOOD,
        PATH_NO_MEMORY,
        PATH_CHARSET, /* a control byte */
        PATH_NOT_ABSOLUTE,
        PATH_NOT_RELATIVE, /* starts with "/", or is empty */
        PATH_DOTDOT,
        PATH_RESERVED, /* "/", /proc, /sys, /dev, or beneath one of these */
};

/*
 * Reads an absolute path inside the sandbox ("/work/space"); reserved places are refused. Gives it
 * in ret, owned by the arena.
 */
enum path_fault path_read_absolute(struct arena *arena, const char *text, const char **ret);

/*
 * Reads a path relative to the workspace (".git/hooks"). Gives it in ret, owned by the arena; never
 * empty.
 */
enum path_fault path_read_relative(struct arena *arena, const char *text, const char **ret);

#endif
