/*
 * cli/value.h - reads the value of an option, or refuses it with the allowed values and an example.
 */
#ifndef CARREL_CLI_VALUE_H
#define CARREL_CLI_VALUE_H

#include <stdint.h>

#include "base/error.h"

enum value_kind {
        /* not checked here; shell completion knows what is offered */
        VALUE_FLAG, /* no value */
        VALUE_TEXT,
        VALUE_FILE,
        VALUE_DIRECTORY,
        VALUE_SANDBOX, /* id or name of a sandbox of the daemon */
        VALUE_PATHS,   /* a path here, or ID:PATH */
        VALUE_VOLUME,
        VALUE_MOUNT, /* FROM:PATH[:ro] */
        VALUE_HOST,
        VALUE_ADDRESS,
        VALUE_RUNTIME,
        VALUE_COMMAND, /* of carrel */
        VALUE_MODE,
        VALUE_SIGNAL,
        VALUE_SHELL,
        /* checked */
        VALUE_DURATION,
        VALUE_PORT,
        VALUE_HOST_PORT,
        VALUE_REMOTE_PORT,
        VALUE_EXEC,
        VALUE_OFFSET,
        VALUE_ENTRIES,
        VALUE_POOL,
        VALUE_CONNECTIONS,
        VALUE_CAP_BYTES,
        VALUE_VARIABLE,
        VALUE_STAGE,
        VALUE_TOOL_NAMES,
        VALUE_INSTRUCTIONS,
        VALUE_SCOPE,
        VALUE_KEY_ACTION,
        VALUE_VOLUME_ACTION,
        VALUE_IMAGE_ACTION,
        VALUE_AUDIT_ACTION,
        VALUE_AUDIT_FORM,
        VALUE_AGE, /* days, read as milliseconds */
        VALUE_DOC_ACTION,
        VALUE_DOC_PROFILE,
        VALUE_DOC_FORMAT,
        VALUE_RISK,
        VALUE_DOC_STARTS,
        VALUE_SIZE,
        VALUE_TASKS,
        VALUE_CPU, /* read as thousandths of a processor */
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

/* Checks a value of any kind. Errors: ERROR_INVALID_ARGUMENT. */
int value_check(enum value_kind kind, struct value_place at, const char *text, struct error *e);

/* Reads a number of any kind that has one: a duration in ms, a size in MiB. */
int value_uint_read(enum value_kind kind, struct value_place at, const char *text, uint64_t *ret,
                    struct error *e);

/* The words of a kind that is one of some words, ended by NULL. */
const char *const *value_words(enum value_kind kind);

/* Reads MiB from "512m", "2g" or "512" (MiB). */
int value_size_read(struct value_place at, const char *text, uint64_t *ret_mib, struct error *e);

/* Reads a number within the bounds of its kind. `text` NULL: the result is not changed. */
int value_number_read(enum value_kind kind, struct value_place at, const char *text, uint64_t *ret,
                      struct error *e);

/* Is it one of the words of its kind? `text` NULL: returns 0. */
int value_word_check(enum value_kind kind, struct value_place at, const char *text,
                     struct error *e);

#endif
