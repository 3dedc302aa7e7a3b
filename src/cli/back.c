/*
 * cli/back.c - the begin and the end of a session at a terminal.
 *
 * Room: cli (joining, program). Touches: fd (standard streams, when they are a terminal), the
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

static bool
has_prompt(const char *program)
{
        static const char *const names[] = { "bash", "dash",    "fish",   "irb", "ksh",
                                             "node", "python3", "python", "sh",  "zsh" };
        const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(names[i], name) == 0)
                        return true;
        return false;
}

void
print_no_prompt(const char *const *argv, size_t argc, const char *verb, const char *sandbox)
{
        if (argc != 1 || !has_prompt(argv[0]) || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
            !isatty(STDERR_FILENO))
                return;
        (void)fputs("carrel: ", stderr);
        print_escaped(stderr, argv[0], false);
        (void)fprintf(stderr,
                      " gets no terminal, so it shows no prompt; Ctrl-D ends it. With one: "
                      "carrel %s -t ",
                      verb);
        if (sandbox)
                print_escaped(stderr, sandbox, false);
        (void)fputs(sandbox ? " -- " : "-- ", stderr);
        print_escaped(stderr, argv[0], false);
        (void)fputc('\n', stderr);
}
