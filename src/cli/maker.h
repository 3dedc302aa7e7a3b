/*
 * cli/maker.h - starts the processes of `carrel run`: the maker, and from it the box.
 */
#ifndef CARREL_CLI_MAKER_H
#define CARREL_CLI_MAKER_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Starts the maker before it is needed, so that its caller can drop privileges before it reads
 * foreign text. maker_start() then returns it. Errors: ERROR_BACKEND_FAILED. A maker that is never
 * used ends when its caller does.
 */
int maker_prepare(struct error *e);

/*
 * Gives a maker that waits for WIRE_BOX_BEGIN (BOX_BEGIN_ONE), and its socket. The caller owns the
 * socket, and waits for the process. Errors: ERROR_BACKEND_FAILED.
 */
int maker_start(int *ret_socket, pid_t *ret_pid, struct error *e);

/*
 * Undoes what killed runtimes left, so that no plan uses what is about to be removed. `directory`
 * holds the leases. What cannot be collected stays; the LEASE step of the next plan tries again.
 */
void maker_collect(const char *directory);

#endif
