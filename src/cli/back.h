/*
 * cli/back.h - the end of a session at a terminal.
 */
#ifndef CARREL_CLI_BACK_H
#define CARREL_CLI_BACK_H

#include <stdbool.h>

/*
 * Prints on standard error, as the last line, that further typing goes to the host. `sandbox`: its
 * name if it is still running; NULL: it has ended with its command. `was_cut`: the command did not
 * end by itself, so a full-screen program may have left special terminal modes on. These modes are
 * then reset first (unless TERM is dumb or not set), and the message begins on a new line.
 */
void print_back(const char *sandbox, bool was_cut);

#endif
