/*
 * wire/command.h - one command, in the one form that travels from its caller to the guest.
 *
 * `carrel run` and the keeper write it as WIRE_BOX_EXEC. The box reads what it lists, and passes
 * the part after struct wire_box_exec on as WIRE_EXEC, from which the guest executes.
 */
#ifndef CARREL_WIRE_COMMAND_H
#define CARREL_WIRE_COMMAND_H

#include <stddef.h>

#include "wire/box.h"
#include "wire/message.h"

enum { WIRE_COMMAND_STRINGS_MAX = 40000 }; /* arguments; likewise variables of the environment */

struct wire_command {          /* everything is borrowed */
        struct wire_exec head; /* argc and envc count the next two; strings_len is not read */
        const char *const *argv, *const *env;
        const char *cwd; /* absolute and inside */
};

/* Bytes of WIRE_BOX_EXEC for this command; 0: it has no arguments, or exceeds
 * WIRE_COMMAND_STRINGS_MAX or WIRE_BODY_MAX. */
size_t wire_command_len(const struct wire_command *c);

/* Writes as many bytes; ask->exec is also that of the command. */
void wire_command_write(const struct wire_command *c, const struct wire_box_exec *ask, void *out);

/*
 * Reads what follows struct wire_box_exec: `body` has `len` bytes. `pointers` (`room` entries;
 * NULL: the message is only checked) receives the strings, which stay in `body`: the arguments,
 * NULL, the environment, NULL, the directory. 0; -EPROTO: a flag is unknown, or there are not as
 * many strings as the head says; -E2BIG: too many strings. *ret_head is written unless `len` is
 * less than its own.
 */
int wire_command_read(char *body, size_t len, char **pointers, size_t room,
                      struct wire_exec *ret_head);

#endif
