/*
 * outcome/lookup.h - why a command was not executed, in words: the same for `run`, `exec` and every
 * front of the daemon.
 */
#ifndef CARREL_OUTCOME_LOOKUP_H
#define CARREL_OUTCOME_LOOKUP_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Writes the error of a command `name` (argv[0]; NULL: not known) that could not be executed
 * because of `sys`, an errno value: ERROR_COMMAND_NOT_FOUND or ERROR_COMMAND_NOT_EXECUTABLE, with
 * what to do about it. Two values have a meaning of their own: ELIBACC is a program that is there
 * while the interpreter it names is not, EISDIR a directory. Always returns -1.
 */
int lookup_refuse(const char *name, int sys, struct error *e);

/* Is `name` a mistake that lookup_refuse() knows by its form (an image, a word of the shell, a
 * whole line), so that it is no misspelt program? */
bool lookup_is_known(const char *name);

#endif
