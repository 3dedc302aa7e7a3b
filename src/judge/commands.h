/*
 * judge/commands.h - which commands may run: lists of programs, judged on what a command would run
 * (shell/reading.h).
 *
 * A guard rail against mistakes and simple tricks, not a wall: a program that is allowed can start
 * any other. The sandbox is the wall. AgentsKit's words (allow, deny, requireSandbox) and those of
 * the Geodocs document (executables_allowlist, commands_disallowed) are read.
 */
#ifndef CARREL_JUDGE_COMMANDS_H
#define CARREL_JUDGE_COMMANDS_H

#include "base/error.h"
#include "judge/validator.h"
#include "shell/reading.h"
#include "spec/spec.h"
#include "text/tree.h"

enum { COMMANDS_LIST_MAX = 1024 };

/* In ascending order: the highest of a command's actions is the command's. */
enum command_verdict { COMMAND_ALLOW, COMMAND_ASK, COMMAND_DENY };

struct command_rules {
        struct spec_names allow, deny, disallowed, require_sandbox;
        bool has_allow;                 /* without it, each program that is not denied is allowed */
        bool requires_all;              /* requireSandbox: "*" */
        enum command_verdict on_doubt;  /* of what is not known before it runs; default: deny */
        enum command_verdict on_write;  /* of the shell's output redirections; default: on_doubt */
        enum command_verdict on_script; /* of files that commands can write; default: on_doubt */
        struct spec_names tools_allow, tools_deny;
        bool has_tools_allow; /* without it, each tool that is not denied is allowed */
        struct validators validators;
        const struct shell_reading *patterns; /* one for each entry of `disallowed` */
};

/* Why one action has its verdict. */
struct command_finding {
        enum command_verdict verdict;
        /* "allowed", "carrier", "named", "not_denied", "denied", "not_allowed", "disallowed",
         * "invalid" (a validator), "tool_denied", "tool_not_allowed", "tool_in_sandbox", or the
         * word of a doubt
         */
        const char *reason;
        const char *entry; /* of the rules, or NULL */
};

/*
 * Reads the rules from a map. Borrows the tree; the result lives in `arena`. Errors:
 * ERROR_SCHEMA_INVALID with the place in the file, also for an entry of commands_disallowed that is
 * no command; ERROR_NO_MEMORY.
 */
int command_rules_read(struct arena *arena, const struct node *root, struct command_rules *ret,
                       struct error *e);

/* The host's facts about files: are these two names or paths the same file? */
typedef bool command_same(void *context, const char *one, const char *other);

/*
 * Judges each action; `ret` has room for reading->count findings. Returns the verdict of the whole
 * command: a denied action denies it, whatever else it has.
 */
enum command_verdict command_judge(const struct command_rules *rules,
                                   const struct shell_reading *reading, command_same *is_same,
                                   void *context, struct command_finding *ret);

/*
 * Judges the name of a tool. Its reason is NULL if the rules say nothing about it.
 * `tool_in_sandbox` allows it, in a sandbox alone.
 */
struct command_finding command_judge_tool(const struct command_rules *rules, const char *tool);

/* "allow", "ask", "deny". */
const char *command_verdict_word(enum command_verdict verdict);

#endif
