/*
 * maker/machine.h - starts QEMU, and makes what its machine begins with.
 */
#ifndef CARREL_MAKER_MACHINE_H
#define CARREL_MAKER_MACHINE_H

#include "plan/step.h"

/* How long a machine may take until its pid 1 is ready: an emulated one on a busy host. */
enum { MACHINE_READY_MS = 100000 };

/*
 * The FIRST step: writes the machine's first file system below `root`: this program as /init, and
 * the kernel modules as /modules/0, /modules/1, ... 0 or -errno.
 */
int machine_write_first(int root, const struct step *s);

struct machine_given { /* -1: nothing */
        int tap;       /* as descriptor 5: the way out of the machine (wall/tap.h) */
        int monitor;   /* as 6: QEMU takes orders there (maker/saved.c) */
        int saved;     /* as 7: the machine that it begins with */
};

/*
 * The MACHINE step, in the box's namespaces and root: starts QEMU, restricted as a payload is, and
 * with the SERVE step (NULL: none) virtiofsd. *ret_alive is then a pipe that ends with virtiofsd.
 * QEMU gets what is given, which is borrowed. Returns this end of the stream to pid 1 of the
 * machine, which ends with QEMU, or -errno.
 */
int machine_start(const struct step *s, const struct step *serve, const struct machine_given *given,
                  int *ret_alive);

#endif
