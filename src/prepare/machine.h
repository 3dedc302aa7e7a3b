/*
 * prepare/machine.h - finds QEMU and a kernel for a virtual machine on this host.
 */
#ifndef CARREL_PREPARE_MACHINE_H
#define CARREL_PREPARE_MACHINE_H

#include "base/arena.h"
#include "base/error.h"
#include "plan/request.h"
#include "prepare/host.h"

/*
 * *ret lives in `arena`. The kernel is the one that the host file names (machine_kernel), or the
 * newest below /boot whose modules are there. Errors: ERROR_CAPABILITY_UNAVAILABLE "no_qemu",
 * "no_kernel", "kernel_modules" or "machine_kind", with the command that mends it.
 */
int machine_find(struct arena *arena, const struct prepare_host *host,
                 const struct plan_machine **ret, struct error *e);

#endif
