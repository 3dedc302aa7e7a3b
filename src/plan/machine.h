/*
 * plan/machine.h - what a sandbox that is a virtual machine needs of its host, and what it cannot
 * do.
 */
#ifndef CARREL_PLAN_MACHINE_H
#define CARREL_PLAN_MACHINE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/host_facts.h"
#include "plan/request.h"
#include "spec/spec.h"

/* Memory of the machine in MiB: limits.memory_mb, or 512. */
uint64_t plan_machine_memory_mb(const struct spec *spec);

/* MiB that QEMU itself may take beside it, and the number of its threads. */
uint64_t plan_machine_overhead_mb(void);
uint64_t plan_machine_tasks(void);

/*
 * What a saved machine must have in common with the one that a spec asks for, beside the files that
 * it was made of: QEMU's arguments, without network and mounts, which it gets when it wakes. In
 * `arena`. NULL: no memory.
 */
const char *plan_machine_identity(struct arena *arena, const struct spec *spec,
                                  const struct host_facts *facts,
                                  const struct plan_machine *machine);

/*
 * 0, or -1 if the request is for a machine and the spec asks for what one cannot do:
 * ERROR_CAPABILITY_UNAVAILABLE "no_virtiofsd", "machine_small" or "machine_disk",
 * ERROR_EGRESS_UNENFORCEABLE "kernel_modules" or "no_tun".
 */
int plan_refuse_machine(const struct spec *spec, const struct host_facts *facts,
                        const struct plan_request *request, struct error *e);

#endif
