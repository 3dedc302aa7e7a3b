/*
 * maker/child.h - a child that does one thing and exits.
 */
#ifndef CARREL_MAKER_CHILD_H
#define CARREL_MAKER_CHILD_H

#include <sys/types.h>

/*
 * Waits for the child. Returns its exit status, -ECHILD if a signal killed it, or another -errno.
 */
int child_wait(pid_t pid);

#endif
