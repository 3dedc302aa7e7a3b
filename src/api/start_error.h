/*
 * api/start_error.h - turns the message that a command did not start (struct wire_exec_failed) into
 * a Carrel error: the same code, place and hint over every front.
 */
#ifndef CARREL_API_START_ERROR_H
#define CARREL_API_START_ERROR_H

#include "base/error.h"
#include "wire/message.h"

/*
 * Writes the error. `name` is the program (argv[0]) and `cwd` the directory that the call named;
 * either may be NULL or "". Source: the stages of guest/command.c, errno of execve(2), chdir(2),
 * fork(2) and posix_openpt(3). Always returns -1.
 */
int start_error_read(struct error *e, const struct wire_exec_failed *failed, const char *name,
                     const char *cwd);

#endif
