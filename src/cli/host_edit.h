/*
 * cli/host_edit.h - adds a value to a list in a host file and keeps everything else, comments too.
 */
#ifndef CARREL_CLI_HOST_EDIT_H
#define CARREL_CLI_HOST_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Gives the text of a host file (`len` bytes of YAML or JSON; 0: no file yet) with `value` at the
 * end of the list `key`. *ret_is_changed is false if the list already has it. `value` is a string,
 * or with `is_number` a whole number in JSON's form. The new text is read again and must differ
 * from the old one in that value only. The text is in `arena`. Errors: those of yaml_read();
 * ERROR_INVALID_ARGUMENT "uneditable" if no such edit was found; ERROR_NO_MEMORY.
 */
int host_edit_add(struct arena *arena, const char *text, size_t len, const char *key,
                  const char *value, bool is_number, const char **ret, bool *ret_is_changed,
                  struct error *e);

#endif
