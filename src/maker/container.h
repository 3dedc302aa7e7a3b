/*
 * maker/container.h - starts a container with an OCI runtime, and removes what the runtime kept.
 */
#ifndef CARREL_MAKER_CONTAINER_H
#define CARREL_MAKER_CONTAINER_H

#include <stddef.h>

#include "plan/step.h"

/*
 * The RUNTIME step: creates the step's directory (absolute, new, for this user alone) with
 * config.json in it, for the program of the CONTAINER step. Orphans of this process become its
 * children from now on. 0 or -errno; -EPERM: somebody else than root can write the program.
 */
int container_prepare(const struct step *s, const char *program);

/*
 * The CONTAINER step, in the box's mount and network namespaces, with root's capabilities, or those
 * of the box's user namespace: the runtime starts the container and ends. Returns this end of the
 * stream to pid 1 inside, or -errno. -ECHILD: it did not start the container; its log is in the
 * directory.
 */
int container_start(const struct step *s);

/* Removes the directory. Nothing runs in the container any more. */
void container_remove(const char *directory);

/* Waits for orphans that have ended. */
void container_reap(void);

#endif
