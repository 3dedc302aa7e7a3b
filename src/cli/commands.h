/*
 * cli/commands.h - the commands of `carrel`, one entry point each.
 *
 * argv[0] is the command's own name ("check"), argv[argc] is NULL. Each command prints its own
 * output and returns the exit status: its own result, or 125 Carrel failed, 126 refused, 127 not
 * found, 124 timed out, 137 killed. The table with names, help and examples is in main.c; a command
 * prints its own help with cmd_usage().
 */
#ifndef CARREL_CLI_COMMANDS_H
#define CARREL_CLI_COMMANDS_H

#include <stdio.h>

struct command {
        const char *name;
        const char *help;    /* one line */
        const char *usage;   /* the text after "carrel NAME" */
        const char *options; /* one line each, or "" */
        const char *example; /* a command line that works as written */
        int (*run)(int argc, char **argv);
};

int cmd_run(int argc, char **argv);
int cmd_gate(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_volume(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_allow(int argc, char **argv);
int cmd_init(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_conformance(int argc, char **argv);
int cmd_providers(int argc, char **argv);
int cmd_docs(int argc, char **argv);
int cmd_create(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_shell(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_output(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_cp(int argc, char **argv);
int cmd_extend(int argc, char **argv);
int cmd_denials(int argc, char **argv);
int cmd_network(int argc, char **argv);
int cmd_pause(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_url(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_key(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* The row with this name, or NULL. */
const struct command *command_find(const char *name);

/* The rows in order; NULL past the last. */
const struct command *command_at(size_t index);

/* Prints the row's help (what it does, usage, options, example). */
void cmd_usage(FILE *out, const char *name);

#endif
