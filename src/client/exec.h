/*
 * client/exec.h - an exec's channel, as the parts of this room share it. Nobody else includes this.
 */
#ifndef CARREL_CLIENT_EXEC_H
#define CARREL_CLIENT_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "carrel/carrel.h"

/* Takes a channel that an operation's answer brought. `name` is the command's, for messages (copied, may be NULL). */
int client_exec_take(int take_fd, uint32_t number, const char *name, struct carrel_exec **ret, struct error *e);

/* As the public functions of the same names, with the room's own error. */
int client_exec_read(struct carrel_exec *x, int timeout_ms, struct carrel_piece *ret, struct error *e);
long client_exec_write(struct carrel_exec *x, const void *bytes, size_t len);
int client_exec_write_end(struct carrel_exec *x, struct error *e);

/* Waits until all that was written is on its way, reading nothing. 0, also when the other side is gone; -1. */
int client_exec_flush(struct carrel_exec *x, struct error *e);

#endif
