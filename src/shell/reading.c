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

/*
 * Does the path lead into /dev or /proc, without links? What climbs is taken from the root: the
 * directory is not known.
 */
static bool
is_device(const char *path)
{
        bool is_rooted = path[0] == '/', is_there = false;
        size_t depth = 0;

        for (size_t len; *path; path += len) {
                path += strspn(path, "/");
                len = strcspn(path, "/");
                if (len == 2 && memcmp(path, "..", 2) == 0) {
                        is_rooted = is_rooted || depth == 0;
                        depth -= depth > 0;
                } else if (len > 1 || (len == 1 && path[0] != '.')) {
                        if (depth++ == 0)
                                is_there = (len == 3 && memcmp(path, "dev", 3) == 0) ||
                                           (len == 4 && memcmp(path, "proc", 4) == 0);
                }
        }
        return is_rooted && depth > 0 && is_there;
}

/*
 * What a shell reads from its standard input has the name of the shell, or "-". `stdin` and numbers
 * are its names in /dev and /proc/self/fd, where `cd` may have led.
 */
static bool
is_input(const char *word)
{
        static const char *const words[] = { "-", "sh", "bash", "dash", "ash", "rbash", "stdin" };
        const char *slash = strrchr(word, '/');
        const char *last = slash ? slash + 1 : word;

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcmp(last, words[i]) == 0)
                        return true;
        return (*last != '\0' && last[strspn(last, "0123456789")] == '\0') || is_device(word);
}

bool
shell_doubt_is_file(enum shell_doubt doubt, const char *written)
{
        if (written[0] == '\0' || is_input(written))
                return false;
        return doubt == SHELL_SCRIPT || (doubt == SHELL_UNKNOWN && strchr(written, '/'));
}
