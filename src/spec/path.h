/*
 * spec/path.h - paths as authors write them, put into one form. Words only: nothing is looked up.
 *
 * "//" and "." collapse, a trailing "/" goes. ".." is refused, never resolved: what it means depends on
 * symbolic links that are not looked at here. Source: AIP-36 "Mounts", cases A36-123 to 127.
 */
#ifndef CARREL_SPEC_PATH_H
#define CARREL_SPEC_PATH_H

#include <stdbool.h>

#include "base/arena.h"

enum path_fault {
        PATH_GOOD,
        PATH_NO_MEMORY,
        PATH_CHARSET,          /* a control byte */
        PATH_NOT_ABSOLUTE,
        PATH_NOT_RELATIVE,     /* starts with "/", or is empty */
        PATH_DOTDOT,
        PATH_RESERVED,         /* "/", /proc, /sys, /dev, or beneath one of these */
};

/* An absolute path inside the sandbox ("/work/space"), reserved places refused. Gives it in ret, owned by the arena. */
enum path_fault path_read_absolute(struct arena *arena, const char *text, const char **ret);

/* A path relative to the workspace (".git/hooks"). Gives it in ret, owned by the arena; never empty. */
enum path_fault path_read_relative(struct arena *arena, const char *text, const char **ret);

#endif
