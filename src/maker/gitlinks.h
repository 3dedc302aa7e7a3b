/*
 * maker/gitlinks.h - the gitlinks of a repository's index that are not on a list.
 */
#ifndef CARREL_MAKER_GITLINKS_H
#define CARREL_MAKER_GITLINKS_H

#include <stdbool.h>
#include <stddef.h>

enum { GITLINKS_ROOM = 48 << 10 };

struct gitlinks { unsigned is_whole, len; char names[GITLINKS_ROOM]; };        /* a NUL after each; not whole: there may be others */

/* Is `path` on the list with that letter? The list: a letter, a path and a NUL each (maker/survey.h). */
bool gitlinks_has(const char *list, size_t list_len, char letter, const char *path);

/* Reads `index` of the directory `git`; what is on the list with the letter 'l' is left out. One that cannot be read has no names, and is not whole. */
void gitlinks_read(int git, const char *list, size_t list_len, struct gitlinks *ret);

#endif
