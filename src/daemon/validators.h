/*
 * daemon/validators.h - the process that runs programs that judge calls, each in a sandbox of its
 * own. So the keeper executes nothing and never waits.
 *
 *     keeper --a socket--> carrel-validate --fork--> one question --fork--> `carrel run`
 */
#ifndef CARREL_DAEMON_VALIDATORS_H
#define CARREL_DAEMON_VALIDATORS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* A program to run. Its standard input and output are 0 and 1 already. */
struct validators_job {
        char **words; /* with a NULL at the end */
        size_t word_count;
        uint64_t timeout_ms, memory_mb;
};

/* Runs it in a sandbox, in a process of its own. Its result is the exit status of that process. */
typedef int validators_run(void *ctx, const struct validators_job *job);

/*
 * Starts carrel-validate as a fork of the caller, with the caller's rights. `fd` (borrowed) is
 * its end of a seqpacket pair with the keeper. It dies with its parent, or when the other end is
 * closed. `forget` erases, with `forget_ctx`, what it does not need. Errors: ERROR_BACKEND_FAILED.
 */
int validators_start(validators_run *run, void *ctx, void (*forget)(void *ctx), void *forget_ctx,
                     int fd, pid_t *ret, struct error *e);

/*
 * Answers one question over the socket (wire/validator.h), and ends this process. The program ends
 * with this process, or when the other end of the socket is closed.
 */
_Noreturn void validators_answer(int socket, validators_run *run, void *ctx);

#endif
