/*
 * cli/host_edit.h - a value more in a list of a host file, with everything else as it was, comments too.
 */
#ifndef CARREL_CLI_HOST_EDIT_H
#define CARREL_CLI_HOST_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Gives the text of a host file (`len` bytes of YAML or JSON; 0: there is no file yet) with `value` at the end of the list `key`, and
 * *ret_is_changed false where the list has it. `value` is a string, or `is_number` a whole number as JSON writes it. What comes out was read again, and differs from what was read before in that value alone.
 * Gives bytes in `arena`. Errors: those of yaml_read(); ERROR_INVALID_ARGUMENT "uneditable" for a text in which no place was found that
 * keeps the rest; ERROR_NO_MEMORY.
 */
int host_edit_add(struct arena *arena, const char *text, size_t len, const char *key, const char *value, bool is_number, const char **ret, bool *ret_is_changed, struct error *e);

#endif
