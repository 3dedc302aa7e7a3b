/*
 * box/confine.h - what a box process can still do: write in its own directory and its own groups.
 *
 * Source: landlock(7), seccomp(2).
 */
#ifndef CARREL_BOX_CONFINE_H
#define CARREL_BOX_CONFINE_H

/* Every capability, and the way back to any, goes; nothing executed later gains one. 0 or -errno. */
int confine_privileges(void);

/* Landlock: files only beneath `directory` and, where it is not -1, `group`. 0; -errno; 0 too on a kernel without Landlock. */
int confine_files(int directory, int group);

#endif
