/*
 * cli/image_guard.h - an import that is interrupted leaves nothing behind.
 */
#ifndef CARREL_CLI_IMAGE_GUARD_H
#define CARREL_CLI_IMAGE_GUARD_H

/*
 * Calls `work` in a child, and returns its exit status. SIGINT, SIGTERM and SIGHUP go to the child.
 * If a signal ended it, erases what it left in the state directory `state`, as `carrel image prune`
 * does (not while another import is at work), says so, and ends this process by the same signal.
 * If no child can be started, `work` is called here.
 */
int image_guard(const char *state, int (*work)(void *ctx), void *ctx);

#endif
