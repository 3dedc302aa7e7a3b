/*
 * judge/pattern.c - POSIX extended regular expressions of rules.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: back references are refused: without them the matcher takes time in proportion to text
 * and pattern.
 */
#include "judge/pattern.h"

#include <regex.h>
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

bool
pattern_is_good(const char *text)
{
        regex_t compiled;

        if (text[0] == '\0' || strlen(text) > PATTERN_MAX || has_back_reference(text) ||
            regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB) != 0)
                return false;
        regfree(&compiled);
        return true;
}

bool
pattern_matches(const char *pattern, const char *text)
{
        regex_t compiled;
        bool result;

        if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return false;
        result = regexec(&compiled, text, 0, NULL, 0) == 0;
        regfree(&compiled);
        return result;
}
