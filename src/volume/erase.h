/*
 * volume/erase.h - finds the users of a volume, and erases a volume whatever a payload left in it.
 */
#ifndef CARREL_VOLUME_ERASE_H
#define CARREL_VOLUME_ERASE_H

#include "volume/volume.h"

/*
 * Erases `name` below `dir`, with everything in it. Returns 0, also if it does not exist, or
 * -errno.
 */
int erase_all(int dir, const char *name);

/*
 * Fills info->users and info->user of an open volume and removes locks that a killed maker left.
 * Call it with the owner's directory locked. Returns 0 or -errno.
 */
int erase_find_users(int volume, struct volume_info *info);

#endif
