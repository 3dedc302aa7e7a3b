/*
 * maker/gitlinks.h - finds the gitlinks of a repository's index that are not in a list.
 */
#ifndef CARREL_MAKER_GITLINKS_H
#define CARREL_MAKER_GITLINKS_H

#include <stdbool.h>
#include <stddef.h>

enum { GITLINKS_ROOM = 48 << 10 };

/* names, each with a NUL; if is_whole is 0, there may be more */
struct gitlinks {
        unsigned is_whole, len;
        char names[GITLINKS_ROOM];
};

/*
 * Does the list hold `path` with that letter? Each entry is a letter, a path and a NUL
 * (maker/survey.h).
 */
bool gitlinks_has(const char *list, size_t list_len, char letter, const char *path);

/*
 * Reads `index` in the directory `git`, without the paths that the list holds with the letter 'l'.
 * If the index cannot be read, the result has no names and is_whole is 0.
 */
void gitlinks_read(int git, const char *list, size_t list_len, struct gitlinks *ret);

#endif
