/*
 * cli/override.h - options that set a value of the manifest for one sandbox: --memory, --disk, --pids, --allow, -v.
 */
#ifndef CARREL_CLI_OVERRIDE_H
#define CARREL_CLI_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "manifest/override.h"

enum { OVERRIDE_TEXT = 4096 };

struct override_set {
        const char *items[MANIFEST_OVERRIDES_MAX];     /* as manifest_override() takes them; in `text`, or those of argv */
        const char *options[MANIFEST_OVERRIDES_MAX];   /* the option that each came from */
        size_t count, used;
        char text[4 * OVERRIDE_TEXT];
};

/* One of ours? */
bool override_is_option(const char *option, size_t len);

/* Takes the value of one. `command`: for messages. Errors: ERROR_INVALID_ARGUMENT. */
int override_add(struct override_set *set, const char *command, const char *option, const char *value, struct error *e);

/*
 * Something was refused at `path`, and `line` is 0: is it about one of the options? Then its name goes before `message` (a NUL-terminated text in `room` bytes), and
 * true is answered: no file is to blame.
 */
bool override_explain(const struct override_set *set, const char *path, unsigned line, char *message, size_t room);

#endif
