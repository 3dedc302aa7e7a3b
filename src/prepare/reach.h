/*
 * prepare/reach.h - could this user have opened a host file?
 *
 * The keeper of a root daemon may read every directory. What it shows to a caller must not depend
 * on that.
 */
#ifndef CARREL_PREPARE_REACH_H
#define CARREL_PREPARE_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Walks from the root directory. May the user `uid` search each directory in `path` (absolute,
 * without links), and read the object there, which must have this inode? The user's groups are
 * unknown, so any permission that a group or an access list could deny counts as denied. A wrong
 * answer is therefore always "no".
 */
bool reach_may_open(const char *path, dev_t device, ino_t inode, uint32_t uid);

#endif
