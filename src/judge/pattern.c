/*
 * judge/pattern.c - POSIX extended regular expressions of rules.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: back references are refused: without them the matcher takes time in proportion to text
 * and pattern.
 */
#include "judge/pattern.h"

#include <regex.h>
#include <stdbool.h>
#include <string.h>

static bool
has_back_reference(const char *pattern)
{
        for (const char *at = strchr(pattern, '\\'); at; at = strchr(at + 2, '\\')) {
                if (at[1] == '\0' || (at[1] >= '0' && at[1] <= '9'))
                        return true;
        }
        return false;
}

static enum pattern_answer
answer(int result)
{
        return result == 0 ? PATTERN_YES : result == REG_ESPACE ? PATTERN_NO_MEMORY : PATTERN_NO;
}

enum pattern_answer
pattern_check(const char *text)
{
        regex_t compiled;
        int result;

        if (text[0] == '\0' || strlen(text) > PATTERN_MAX || has_back_reference(text))
                return PATTERN_NO;
        result = regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB);
        if (result == 0)
                regfree(&compiled);
        return answer(result);
}

enum pattern_answer
pattern_match(const char *pattern, const char *text)
{
        regex_t compiled;
        int result;

        /* of a pattern that was checked, memory is all that can be missing */
        if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return PATTERN_NO_MEMORY;
        result = regexec(&compiled, text, 0, NULL, 0);
        regfree(&compiled);
        return answer(result);
}
