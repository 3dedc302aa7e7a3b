/*
 * cli/host_word.h - is a word written in a host file? Read before the ladder, where nothing is
 * parsed.
 */
#ifndef CARREL_CLI_HOST_WORD_H
#define CARREL_CLI_HOST_WORD_H

#include <stdbool.h>

/*
 * Does a host file that could apply have these bytes: the machine's, or `named` (NULL: the user's
 * own)? `word` has at most 64 bytes.
 */
bool host_word_is_written(const char *named, const char *word);

#endif
