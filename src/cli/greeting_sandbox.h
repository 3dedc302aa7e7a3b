/*
 * cli/greeting_sandbox.h - the sandbox in which a provider's program greets.
 */
#ifndef CARREL_CLI_GREETING_SANDBOX_H
#define CARREL_CLI_GREETING_SANDBOX_H

#include <stdint.h>

#include "policy/host_provider.h"

enum { GREETING_WORDS_MAX = 512 };

struct greeting_sandbox {
        int files[2]; /* manifest and host file, open across an exec; -1: closed */
        char paths[2][32];
        char *argv[GREETING_WORDS_MAX]; /* of `carrel run`, with the program's words */
};

/* Borrows the words of `p`. 0, or -1: no memory. close() is needed in both cases. */
int greeting_sandbox_open(struct greeting_sandbox *b, const struct host_provider *p,
                          uint64_t timeout_ms);
void greeting_sandbox_close(struct greeting_sandbox *b);

#endif
