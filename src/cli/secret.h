/*
 * cli/secret.h - who asks the sources of secrets for `carrel run`.
 *
 * An ordinary user's program asks them itself. Root's lets go of executing programs before it reads a manifest, so it leaves behind a process
 * that has not, where a host file is named: that alone names commands.
 */
#ifndef CARREL_CLI_SECRET_H
#define CARREL_CLI_SECRET_H

#include "base/error.h"
#include "prepare/prepare.h"

/* Before the ladder. `host_file` may be NULL. Errors: ERROR_BACKEND_FAILED. */
int secret_asker_start(const char *host_file, struct error *e);

/* Who asks, or NULL: nobody but we. */
const struct prepare_source *secret_asker(void);

/* It is no longer needed. */
void secret_asker_end(void);

#endif
