/*
 * judge/pattern.h - POSIX extended regular expressions of rules.
 */
#ifndef CARREL_JUDGE_PATTERN_H
#define CARREL_JUDGE_PATTERN_H

enum { PATTERN_MAX = 256 /* bytes */ };
#define PATTERN_RULE                                                                           \
        "a pattern is an extended regular expression of POSIX without back references, of at " \
        "most 256 bytes"

/* The process that judges bounds time and memory of both. */
enum pattern_answer { PATTERN_NO_MEMORY = -1, PATTERN_NO, PATTERN_YES };

/* Does `text` follow PATTERN_RULE? */
enum pattern_answer pattern_check(const char *text);

/* Does a pattern that was checked match somewhere in `text`? */
enum pattern_answer pattern_match(const char *pattern, const char *text);

#endif
