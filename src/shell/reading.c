/*
 * shell/reading.c - the words of doubts.
 *
 * Room: shell (deciding). Touches: nothing.
 */
#include "shell/reading.h"

#include <string.h>

static const struct {
        const char *word, *meaning, *help;
} doubts[] = {
        [SHELL_NO_DOUBT] = { "none", "it is known", "" },
#define DOUBT(name, word, meaning, help) [SHELL_##name] = { word, meaning, help },
#include "shell/doubts.def"
#undef DOUBT
};

const char *
shell_doubt_word(enum shell_doubt doubt)
{
        return doubts[doubt].word;
}

const char *
shell_doubt_meaning(enum shell_doubt doubt)
{
        return doubts[doubt].meaning;
}

const char *
shell_doubt_help(enum shell_doubt doubt)
{
        return doubts[doubt].help;
}

enum shell_doubt
shell_doubt_find(const char *word)
{
        for (int i = 1; i < SHELL_DOUBT_MAX; i++)
                if (strcmp(doubts[i].word, word) == 0)
                        return (enum shell_doubt)i;
        return SHELL_NO_DOUBT;
}
