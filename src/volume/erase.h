/*
 * volume/erase.h - who uses a volume, and erasing one, whatever a payload left in it.
 */
#ifndef CARREL_VOLUME_ERASE_H
#define CARREL_VOLUME_ERASE_H

#include "volume/volume.h"

/* Erases `name` below `dir`, whole. 0 also where there is none, or -errno. */
int erase_all(int dir, const char *name);

/* Fills info->users and info->user of an open volume; removes locks that a killed maker left. Its owner's directory is locked. 0 or -errno. */
int erase_find_users(int volume, struct volume_info *info);

#endif
