/*
 * box/confine.h - reduces the rights of a box process: it can write only in its own directory and
 * its own groups.
 *
 * Source: landlock(7), seccomp(2).
 */
#ifndef CARREL_BOX_CONFINE_H
#define CARREL_BOX_CONFINE_H

/*
 * Drops every capability and every way to regain one; a program executed later gains none. 0 or
 * -errno.
 */
int confine_privileges(void);

/*
 * Landlock: permits files only beneath `directory` and, unless it is -1, `group`. 0 or -errno; also
 * 0 on a kernel without Landlock.
 */
int confine_files(int directory, int group);

#endif
