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

/* What a shell reads from its standard input has the name of the shell, or "-". */
static bool
is_input(const char *word)
{
        static const char *const words[] = { "-", "sh", "bash", "dash" };
        const char *slash = strrchr(word, '/');

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcmp(slash ? slash + 1 : word, words[i]) == 0)
                        return true;
        return strncmp(word, "/dev/", 5) == 0 || strncmp(word, "/proc/", 6) == 0;
}

bool
shell_doubt_is_file(enum shell_doubt doubt, const char *written)
{
        if (written[0] == '\0' || is_input(written))
                return false;
        return doubt == SHELL_SCRIPT || (doubt == SHELL_UNKNOWN && strchr(written, '/'));
}
