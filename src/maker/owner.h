/*
 * maker/owner.h - the file-system identity of a directory's owner: in that directory root may do no
 * more than its owner.
 */
#ifndef CARREL_MAKER_OWNER_H
#define CARREL_MAKER_OWNER_H

/*
 * Takes the identity of the owner of `dir` until owner_leave(). Without root it changes nothing.
 * Calls do not nest.
 */
void owner_enter(int dir);
void owner_leave(void);

#endif
