/*
 * cli/override.h - options that set a value of the manifest for one sandbox: --memory, --disk,
 * --pids, --allow, -v.
 */
#ifndef CARREL_CLI_OVERRIDE_H
#define CARREL_CLI_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "manifest/override.h"

enum { OVERRIDE_TEXT = 4096 };

struct override_set {
        /* in the form of manifest_override(); stored in `text`, or in argv */
        const char *items[MANIFEST_OVERRIDES_MAX];
        const char *options[MANIFEST_OVERRIDES_MAX]; /* the option that gave each item */
        size_t count, used;
        char text[4 * OVERRIDE_TEXT];
};

/* Adds the value of one option. `command` is for messages. Errors: ERROR_INVALID_ARGUMENT. */
int override_add(struct override_set *set, const char *command, const char *option,
                 const char *value, struct error *e);

/*
 * For an error at `path` with `line` 0: if one of the options caused it, puts the option's name
 * before `message` (a NUL-terminated text in `room` bytes) and returns true. No file is then at
 * fault.
 */
bool override_explain(const struct override_set *set, const char *path, unsigned line,
                      char *message, size_t room);

#endif
