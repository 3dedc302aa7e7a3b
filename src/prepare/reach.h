/*
 * prepare/reach.h - could this user have come to a file of the host?
 *
 * The keeper of a daemon that root runs may look into every directory. What it shows to a caller must not depend on that.
 */
#ifndef CARREL_PREPARE_REACH_H
#define CARREL_PREPARE_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Walks from the root directory: may the user `uid` search each directory on the way to `path` (absolute, without links), and read what lies there,
 * which has to be this inode? Of groups nothing is known, so what a group or an access list might deny is closed: a wrong answer is always "no".
 */
bool reach_may_open(const char *path, dev_t device, ino_t inode, uint32_t uid);

#endif
