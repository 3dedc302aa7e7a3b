/*
 * cli/back.h - the begin and the end of a session at a terminal.
 */
#ifndef CARREL_CLI_BACK_H
#define CARREL_CLI_BACK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Prints on standard error, as the last line, that further typing goes to the host. `sandbox`: its
 * name if it is still running; NULL: it has ended with its command. `was_cut`: the command did not
 * end by itself, so a full-screen program may have left special terminal modes on. These modes are
 * then reset first (unless TERM is dumb or not set), and the message begins on a new line.
 */
void print_back(const char *sandbox, bool was_cut);

/*
 * Prints on standard error what to type, if the command is a shell or an interpreter alone, all
 * standard streams are a terminal, and the command gets none: it would read without a prompt.
 * `verb`: "run", or "exec" with the sandbox's name as `sandbox`, else NULL.
 */
void print_no_prompt(const char *const *argv, size_t argc, const char *verb, const char *sandbox);

#endif
