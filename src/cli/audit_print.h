/*
 * cli/audit_print.h - entries of an audit log as lines for people.
 */
#ifndef CARREL_CLI_AUDIT_PRINT_H
#define CARREL_CLI_AUDIT_PRINT_H

#include <stdint.h>

#include "audit/entry.h"

enum { AUDIT_STARTS = 256, AUDIT_COMMAND_ROOM = 200 };

/* The commands of the last starts, to name them at their ends. */
struct audit_starts {
        struct audit_start {
                uint64_t seq;
                char subject[64], command[AUDIT_COMMAND_ROOM];
        } items[AUDIT_STARTS];
        uint64_t count;
};

/* Keeps the command of an exec.started, or the call of a call.started; others change nothing. */
void audit_starts_add(struct audit_starts *starts, const struct audit_entry *entry);

/*
 * Prints the entry on stdout: local time, number, action, status and command in one line, and
 * executions and connections as indented lines below it.
 */
void audit_print_line(const struct audit_starts *starts, const struct audit_entry *entry);

/* Prints every member of the entry on stdout. */
void audit_print_whole(const struct audit_entry *entry);

#endif
