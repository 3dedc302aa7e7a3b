/*
 * cli/commands.h - the commands of `carrel`, one entry point each.
 *
 * argv[0] is the command's own name ("check"), argv[argc] is NULL. Each command prints its own
 * output and returns the exit status: its own result, or 125 Carrel failed, 126 refused, 127 not
 * found, 124 timed out, 137 killed. The list of all commands is in main.c.
 */
#ifndef CARREL_CLI_COMMANDS_H
#define CARREL_CLI_COMMANDS_H

#include <stddef.h>

struct option;
struct operand;

/*
 * One command: its row is beside its function. Usage, help, manual page and shell completion are
 * printed from it, and options_read() reads a command line by it.
 */
struct command {
        const char *name;
        const char *help;               /* one line */
        const struct option *options;   /* NULL: none */
        const struct operand *operands; /* the words beside the options; NULL: none */
        size_t words_max;               /* how many words; 0: one for each operand */
        const char *needs; /* its required words, for a message; NULL: it checks them itself */
        const char *rest;  /* the command that it runs: "[--] COMMAND"; "": not shown; NULL: none */
        const char *notes; /* lines below the options, or NULL */
        const char *example; /* a command line that works as written */
        int (*run)(int argc, char **argv);
};

extern const struct command command_init, command_run, command_code, command_plan, command_gate,
        command_check, command_allow, command_policy, command_volume, command_image, command_audit,
        command_doctor, command_provider, command_providers, command_serve, command_mcp,
        command_key, command_create, command_ls, command_info, command_exec, command_shell,
        command_ps, command_output, command_kill, command_cp, command_extend, command_pause,
        command_resume, command_network, command_limits, command_denials, command_usage,
        command_url, command_stop, command_events, command_completion, command_docs, command_schema,
        command_conformance, command_doc, command_approvals, command_approve, command_deny,
        command_tool_server;

/* The row with this name, or NULL. */
const struct command *command_find(const char *name);

/* The rows in order; NULL past the last. */
const struct command *command_at(size_t index);

#endif
