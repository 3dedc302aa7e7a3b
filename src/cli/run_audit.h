/*
 * cli/run_audit.h - what `carrel run --audit` records of its command, or, in a replay, of one after
 * the other.
 *
 *   policy.denied  rules denied the command; exec.refused follows
 *   exec.refused   the command was not started: the error
 *   exec.started   on the disk before the command's process exists: argv, the SHA-256 of its words,
 *                  names of its environment, manifest, what the sandbox is allowed, time limit
 *   exec.ended     exactly one for each exec.started: the members of `run --json`, and byte count
 *                  and SHA-256 of standard output and standard error
 *   egress.allowed, ...   what the command did meanwhile (cli/run_facts.h)
 *
 * With run_audit_keep(), exec.started also has the digest of the workspace, and exec.ended the
 * contents of standard input and output.
 *
 * Values of environment variables are never recorded. Of a long command the first words are; the
 * SHA-256 is over all of them.
 */
#ifndef CARREL_CLI_RUN_AUDIT_H
#define CARREL_CLI_RUN_AUDIT_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/prepare.h"
#include "run/run.h"

/* Opens the log and starts the recorder (recorder/recorder.h). Errors: as recorder_start(). */
int run_audit_begin(struct error *e);

/* Did run_audit_begin() succeed? */
bool run_audit_has_begun(void);

/*
 * Does a host file that applies contain the word `audit`? A search of bytes: the file is read by
 * rules later, by a process without rights. `named`: --host, or NULL.
 */
bool run_audit_may_be_asked(const char *named);

/*
 * Rules denied the command: run_audit_failed() records that too. `program`: of the command, or
 * NULL; copied.
 */
void run_audit_denied(const char *program);

/*
 * Records the start, and has the digests of the output made: `options` gets `seen`. Errors: as
 * recorder_append(); then the command must not be started.
 */
int run_audit_started(const struct run_way *w, const struct prepare_options *o,
                      struct run_options *options, struct error *e);

/*
 * Keeps what the command reads and writes, with -t only its output; and what servers answer it, if
 * it has destinations: `options` gets a wall with a transcript. Before run_audit_started(). Errors:
 * as recorder_content_begin(); then the command must not be started.
 */
int run_audit_keep(const struct run_way *w, const struct prepare_options *o,
                   struct run_options *options, struct error *e);

/* Records the end. Errors: as recorder_append(). */
int run_audit_ended(const struct run_way *w, const struct run_result *r, struct error *e);

/*
 * Records that the command never ran, because of `why`: as its end if its start was recorded, else
 * as a refusal. Nothing if `why` is an error of the log itself, or came before
 * run_audit_begin() had opened it. Errors: as recorder_append().
 */
int run_audit_failed(const struct run_way *w, const struct prepare_options *o,
                     const struct error *why, struct error *e);

/* "audit://CHAIN/NUMBER" of the last record, or NULL if nothing was recorded. */
const char *run_audit_ref(void);

/* Ends the recorder. Nothing if there is none. */
void run_audit_end(void);

#endif
