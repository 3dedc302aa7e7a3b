/*
 * cli/options.h - reads the options of commands that take a file and a few options.
 */
#ifndef CARREL_CLI_OPTIONS_H
#define CARREL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { OPTION_LIST_MAX = 256 };

struct option_list {
        const char *items[OPTION_LIST_MAX];
        size_t count;
};

struct option_row {
        const char *name;         /* "--stage" */
        const char **text;        /* takes a value, written here; or NULL */
        bool *flag;               /* takes no value; or NULL */
        struct option_list *list; /* takes a value, any number of times; or NULL */
};

/*
 * Reads argv[1..]: options in any order, "--name value" or "--name=value", and at most `words_max`
 * other words; "--" ends the options. Gives the words in order and their number. Errors:
 * ERROR_INVALID_ARGUMENT.
 */
int options_read(int argc, char **argv, const struct option_row *rows, size_t row_count,
                 const char **words, size_t words_max, size_t *ret_word_count, struct error *e);

/*
 * Sets the next step after an unknown option ("--image=x", "-it"). `meant` is the nearest option of
 * the command, or NULL.
 */
void option_unknown_hint(struct error *e, const char *command, const char *option,
                         const char *meant);

/*
 * The same for a command that runs another: reads options and `words_max` words, then options again
 * until "--" or a word, where the other command begins. *ret_rest is its index in argv, argc if
 * it is missing. Errors: ERROR_INVALID_ARGUMENT.
 */
int options_read_command(int argc, char **argv, const struct option_row *rows, size_t row_count,
                         const char **words, size_t words_max, size_t *ret_word_count,
                         int *ret_rest, struct error *e);

#endif
