/*
 * host/machine.h - what this host has for a virtual machine: QEMU, a kernel and its modules.
 */
#ifndef CARREL_HOST_MACHINE_H
#define CARREL_HOST_MACHINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "plan/request.h"

enum { HOST_MACHINE_TEXT = 400 };

/* What is missing: a reason, a sentence, and how it is mended. reason NULL: no memory. */
struct host_machine_lack {
        const char *reason, *mend;
        char what[HOST_MACHINE_TEXT];
};

/*
 * Why this machine cannot run one, in words; NULL: it can try. Only what is seen at once: whether
 * there is a kernel, host_machine_find() says.
 */
struct host_facts;
const char *host_machine_lacks(const struct host_facts *facts);

/* mkfs.erofs in root's own directories of programs, which makes the disks of images; or NULL. */
const char *host_machine_mkfs(void);

/*
 * Finds QEMU in root's own directories of programs, and a kernel: `kernel` (absolute; modules in
 * ../lib/modules/VERSION of .../boot/vmlinuz-VERSION), or with NULL the newest of /boot that is
 * readable and has the modules that a machine needs. In `arena`. False: *lack says what is missing.
 */
bool host_machine_find(struct arena *arena, const char *kernel, struct plan_machine *ret,
                       struct host_machine_lack *lack);

#endif
