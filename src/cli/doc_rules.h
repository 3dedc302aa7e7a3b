/*
 * cli/doc_rules.h - rules for commands and approvals of a sandbox, as parts of its document, and
 * the sandbox without them, whose boundary is tried.
 */
#ifndef CARREL_CLI_DOC_RULES_H
#define CARREL_CLI_DOC_RULES_H

#include "cli/doc.h"
#include "cli/prepare.h"

/*
 * The manifest that probes of the boundary use. Rules are a guard rail, and a program that they
 * permit can start any other, so the boundary is tried without them: with rules or approvals in
 * the manifest, *ret_file is a copy without both in /tmp, else a->file. *ret_workspace is the
 * workspace that belongs to it. Both live as long as `a`. Errors: ERROR_STORAGE_FULL,
 * ERROR_NO_MEMORY; ERROR_NOT_CONFIGURED if the rules are in a file that the manifest refers to.
 */
int doc_rules_open(struct doc_asked *a, const struct run_way *way, const char **ret_file,
                   const char **ret_workspace, struct error *e);

/* Removes the copy. */
void doc_rules_close(struct doc_asked *a);

/* Lists of manifest and host file: programs that alone may run (NULL: no such list applies). */
const struct node *doc_rules_allowed(const struct run_way *way);

/* Write a list: commands and programs that may not run; operations that wait for a person. */
void doc_rules_write_denied(const struct run_way *way, struct json_writer *w);
void doc_rules_write_waiting(const struct run_way *way, struct json_writer *w);

/* Does a command wait for a person? */
bool doc_rules_gate(const struct run_way *way);

/* What the rules say of a command, without running it. False also if they cannot be judged. */
bool doc_rules_permit(struct arena *arena, const struct run_way *way, const char *const *command);

#endif
