/*
 * cli/back.c - the end of a session at a terminal.
 *
 * Room: cli (joining, program). Touches: fd (standard error, when it is a terminal), the
 * environment (TERM).
 * Theory: run/terminal.c restores the modes of the terminal driver. What remains are modes of
 * the terminal itself, which a killed program could not reset. Each sequence here has no effect if
 * its mode was not on.
 */
#include "cli/back.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/finding_print.h"

/*
 * Main screen; cursor shown; no mouse reports, no bracketed paste; normal keys; normal characters
 * and colours.
 */
static const char usual_modes[] = "\033[?1047l\033[?25h\033[?1000l\033[?1002l\033[?1003l\033[?"
                                  "1006l\033[?2004l\033[?1l\033>\033(B\033[0m";

void
print_back(const char *sandbox, bool was_cut)
{
        const char *term = getenv("TERM");

        if (was_cut && isatty(STDERR_FILENO))
                (void)fprintf(stderr, "%s\n",
                              term && *term != '\0' && strcmp(term, "dumb") != 0 ? usual_modes
                                                                                 : "");
        (void)fputs("carrel: ", stderr);
        if (sandbox) {
                (void)fputs("you have left the sandbox ", stderr);
                print_escaped(stderr, sandbox, false);
                (void)fputs(" and are back on the host.\n", stderr);
        } else {
                (void)fputs("the sandbox has ended. You are back on the host.\n", stderr);
        }
}
