/*
 * bridge/process/starter.h - the process that starts the provider's program for carrel-bridge.
 *
 * carrel-bridge reads what that program writes, so its own system calls make no process
 * (seal/seal.def). It forks this one before: it reads nothing but the requests below.
 *
 *     carrel-bridge --WIRE_EXEC: the provider's key, or nothing--> starter
 *                   <--WIRE_SPAWNED: pid, or errno; its two pipes--
 */
#ifndef CARREL_BRIDGE_PROCESS_STARTER_H
#define CARREL_BRIDGE_PROCESS_STARTER_H

#include "bridge/provider.h"

/* Forks it, for the program `argv`. *ret_fd: the socket to it; it ends when that closes. 0 or -1.
 */
int starter_fork(char *const *argv, int *ret_fd);

/*
 * Has the program started, with the environment of this process and `key` ("NAME=value", or NULL).
 * Errors: ERROR_BACKEND_FAILED with an errno.
 */
int starter_start(int fd, const char *key, struct provider_process *ret, struct error *e);

#endif
