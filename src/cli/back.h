/*
 * cli/back.h - the end of a session at a terminal.
 */
#ifndef CARREL_CLI_BACK_H
#define CARREL_CLI_BACK_H

#include <stdbool.h>

/*
 * Says on standard error, as the last line, that what is typed from here on goes to the host. `sandbox`: its name, where it lives on; NULL: it has ended
 * with its command. `was_cut`: the command did not end by itself, so a full-screen program may have left the terminal in a mode of its own: those modes
 * are ended first (not where TERM is dumb or not set), and the line begins on a line of its own.
 */
void print_back(const char *sandbox, bool was_cut);

#endif
