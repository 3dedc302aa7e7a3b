/*
 * client/exec.h - the channel of an exec, shared by the files of this room. No other room includes
 * it.
 */
#ifndef CARREL_CLIENT_EXEC_H
#define CARREL_CLIENT_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "carrel/carrel.h"

/*
 * Takes a channel that came with an operation's answer. `name` is the command's name for messages
 * (copied, may be NULL).
 */
int client_exec_take(int take_fd, uint32_t number, const char *name, struct carrel_exec **ret,
                     struct error *e);

/* As the public functions of the same names, but errors are struct error. */
int client_exec_read(struct carrel_exec *x, int timeout_ms, struct carrel_piece *ret,
                     struct error *e);
long client_exec_write(struct carrel_exec *x, const void *bytes, size_t len);
int client_exec_write_end(struct carrel_exec *x, struct error *e);

/*
 * Waits until everything written was sent, and reads nothing. Returns 0 (also if the peer has
 * closed) or -1.
 */
int client_exec_flush(struct carrel_exec *x, struct error *e);

#endif
