/*
 * cli/secret.h - which process asks the sources of secrets for `carrel run`.
 *
 * An ordinary user's program asks them itself. Root's program gives up the right to execute
 * programs before it reads a manifest. If a host file is named, it therefore first starts a process
 * that keeps this right: only a host file names commands.
 */
#ifndef CARREL_CLI_SECRET_H
#define CARREL_CLI_SECRET_H

#include "base/error.h"
#include "prepare/prepare.h"

/* Call it before the ladder. `host_file` may be NULL. Errors: ERROR_BACKEND_FAILED. */
int secret_asker_start(const char *host_file, struct error *e);

/* The process that asks, or NULL: this process asks itself. */
const struct prepare_source *secret_asker(void);

/* Ends that process. */
void secret_asker_end(void);

#endif
