/*
 * guest/stand_in.h - calls of root that pid 1 does in its place: a mode without its set-id bits,
 * and a change of owner without ids that do not exist in the sandbox.
 *
 *     call of a process --the filter asks--> it waits --pid 1 does the rest of it--> its result
 *
 * In a sandbox these bits have no effect: every mount is nosuid. On the disk of the host, in a
 * mount, they would have one.
 */
#ifndef CARREL_GUEST_STAND_IN_H
#define CARREL_GUEST_STAND_IN_H

#include <linux/seccomp.h>

/*
 * Does the call `n` of another process, which the listener holds, and sets error and val of the
 * answer. -EPERM: it is a call or a process that nobody stands in for.
 */
void stand_in(int listener, const struct seccomp_notif *n, struct seccomp_notif_resp *answer);

#endif
