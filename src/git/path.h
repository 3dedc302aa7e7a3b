/*
 * git/path.h - where the words of a configuration, a gitfile or a link lead within a workspace.
 */
#ifndef CARREL_GIT_PATH_H
#define CARREL_GIT_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where `words`, said in the directory `base` (relative to `root`, "" is `root` itself), lead:
 * relative to `root`, an absolute path of the host, by their words alone; links are not followed.
 * ret: at most `room` bytes. False where that is outside, `root` itself, or too long. Source:
 * gitrepository-layout(5).
 */
bool git_path_resolve(const char *root, const char *base, const char *words, char *ret,
                      size_t room);

#endif
