/*
 * cli/value.h - reads the value of an option, or refuses it with the allowed values and an example.
 */
#ifndef CARREL_CLI_VALUE_H
#define CARREL_CLI_VALUE_H

#include <stdint.h>

#include "base/error.h"

enum value_kind {
        VALUE_DURATION,
        VALUE_PORT,
        VALUE_HOST_PORT,
        VALUE_EXEC,
        VALUE_OFFSET,
        VALUE_SIGNAL,
        VALUE_POOL,
        VALUE_MODE,
        VALUE_VARIABLE,
        VALUE_STAGE,
        VALUE_TOOL_NAMES,
        VALUE_INSTRUCTIONS,
        VALUE_SCOPE,
        VALUE_KEY_ACTION,
        VALUE_VOLUME_ACTION,
        VALUE_SIZE,
        VALUE_TASKS,
        VALUE_COUNT
};

/*
 * Where a value appears: `carrel COMMAND OPTION value`; `option` NULL: a word without an option.
 * Both are borrowed.
 */
struct value_place {
        const char *command, *option;
};

/*
 * ERROR_INVALID_ARGUMENT: names the place, the value, what is allowed, an example, and the help to
 * read. Always returns -1.
 */
int value_wrong(enum value_kind kind, struct value_place at, const char *text, struct error *e);

/*
 * Reads milliseconds from "1500ms", "30s", "5m", "2h" or "30" (seconds). `text` NULL: the result is
 * not changed.
 */
int value_duration_read(struct value_place at, const char *text, uint64_t *ret_ms, struct error *e);

/* Reads MiB from "512m", "2g" or "512" (MiB). */
int value_size_read(struct value_place at, const char *text, uint64_t *ret_mib, struct error *e);

/* Reads a number within the bounds of its kind. `text` NULL: the result is not changed. */
int value_number_read(enum value_kind kind, struct value_place at, const char *text, uint64_t *ret,
                      struct error *e);

/* Is it one of the words of its kind? `text` NULL: returns 0. */
int value_word_check(enum value_kind kind, struct value_place at, const char *text,
                     struct error *e);

/* Is it NAME=value? */
int value_variable_check(struct value_place at, const char *text, struct error *e);

#endif
