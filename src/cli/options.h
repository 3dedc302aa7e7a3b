/*
 * cli/options.h - reading a command's options, for commands that take a file and a few of them.
 */
#ifndef CARREL_CLI_OPTIONS_H
#define CARREL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct option_row {
        const char *name;               /* "--stage" */
        const char **text;              /* takes a value, written here; or NULL */
        bool *flag;                     /* takes none; or NULL */
};

/*
 * Reads argv[1..]: options in any order, "--name value" or "--name=value", at most `words_max` other words; "--" ends the
 * options. Gives the words in order and how many there were. Errors: ERROR_INVALID_ARGUMENT.
 */
int options_read(int argc, char **argv, const struct option_row *rows, size_t row_count, const char **words,
                 size_t words_max, size_t *ret_word_count, struct error *e);

#endif
