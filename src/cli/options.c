/*
 * cli/options.c - reading a command's options.
 *
 * Room: cli (joining, program). Touches: nothing.
 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

static int
wrong(struct error *e, const char *command, const char *word, const char *what)
{
        (void)fail(e, ERROR_INVALID_ARGUMENT, "%.64s: \"%.100s\" %s", command, word, what);
        error_hint(e, "`carrel %.64s --help` shows how it is used.", command);
        return -1;
}

void
option_unknown_hint(struct error *e, const char *command, const char *meant)
{
        if (meant)
                error_hint(e, "Did you mean %.32s? `carrel %.64s --help` shows every option.", meant, command);
        else
                error_hint(e, "`carrel %.64s --help` shows every option.", command);
}

static int
unknown(struct error *e, const char *command, const char *word, const struct option_row *rows, size_t count)
{
        char name[NEAREST_WORD_MAX + 2];
        struct nearest n;

        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        n = nearest_begin(name);
        for (size_t i = 0; i < count; i++)
                (void)nearest_try(&n, rows[i].name, rows[i].name);
        (void)wrong(e, command, word, "is no option of this command");
        option_unknown_hint(e, command, n.found);
        return -1;
}

/* The row that `word` names, and the value glued to it with "=", if any. */
static const struct option_row *
find_row(const struct option_row *rows, size_t count, const char *word, const char **ret_value)
{
        for (size_t i = 0; i < count; i++) {
                size_t len = strlen(rows[i].name);

                if (strncmp(word, rows[i].name, len) != 0 || (word[len] != '\0' && word[len] != '='))
                        continue;
                *ret_value = word[len] == '=' ? word + len + 1 : NULL;
                return &rows[i];
        }
        return NULL;
}

/* Takes one option; gives how many arguments it used. */
static int
take(int argc, char **argv, int at, const struct option_row *rows, size_t count, int *ret_used, struct error *e)
{
        const char *value = NULL;
        const struct option_row *row = find_row(rows, count, argv[at], &value);

        *ret_used = 1;
        if (!row)
                return unknown(e, argv[0], argv[at], rows, count);
        if (row->flag) {
                if (value)
                        return wrong(e, argv[0], argv[at], "takes no value");
                *row->flag = true;
                return 0;
        }
        if (!value) {
                if (at + 1 >= argc)
                        return wrong(e, argv[0], argv[at], "needs a value");
                value = argv[at + 1];
                *ret_used = 2;
        }
        if (!row->list)
                *row->text = value;
        else if (row->list->count < OPTION_LIST_MAX)
                row->list->items[row->list->count++] = value;
        else
                return wrong(e, argv[0], argv[at], "stands too often");
        return 0;
}

int
options_read(int argc, char **argv, const struct option_row *rows, size_t row_count, const char **words,
             size_t words_max, size_t *ret_word_count, struct error *e)
{
        bool is_ended = false;
        size_t count = 0;
        int used;

        for (int i = 1; i < argc; i += used) {
                used = 1;
                if (!is_ended && strcmp(argv[i], "--") == 0) {
                        is_ended = true;
                        continue;
                }
                if (!is_ended && argv[i][0] == '-' && argv[i][1] != '\0') {
                        if (take(argc, argv, i, rows, row_count, &used, e) < 0)
                                return -1;
                        continue;
                }
                if (count == words_max)
                        return wrong(e, argv[0], argv[i], "is one word too many");
                words[count++] = argv[i];
        }
        *ret_word_count = count;
        return 0;
}

int
options_read_command(int argc, char **argv, const struct option_row *rows, size_t row_count, const char **words, size_t words_max,
                     size_t *ret_word_count, int *ret_rest, struct error *e)
{
        size_t count = 0;
        int used, at;

        for (at = 1; at < argc; at += used) {
                bool is_option = argv[at][0] == '-' && argv[at][1] != '\0';

                used = 1;
                if (strcmp(argv[at], "--") == 0) {
                        at++;
                        break;
                }
                if (is_option && take(argc, argv, at, rows, row_count, &used, e) < 0)
                        return -1;
                if (!is_option && count == words_max)
                        break;
                if (!is_option)
                        words[count++] = argv[at];
        }
        *ret_word_count = count;
        *ret_rest = at;
        return 0;
}
