/*
 * judge/pattern.h - POSIX extended regular expressions of rules.
 */
#ifndef CARREL_JUDGE_PATTERN_H
#define CARREL_JUDGE_PATTERN_H

#include <stdbool.h>

enum { PATTERN_MAX = 256 /* bytes */ };
#define PATTERN_RULE                                                                           \
        "a pattern is an extended regular expression of POSIX without back references, of at " \
        "most 256 bytes"

/* Does `text` follow PATTERN_RULE? */
bool pattern_is_good(const char *text);

/*
 * Does the pattern match somewhere in `text`? False too if it cannot be tried. Its time and memory
 * are bounded by the process that judges.
 */
bool pattern_matches(const char *pattern, const char *text);

#endif
