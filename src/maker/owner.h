/*
 * maker/owner.h - the file-system identity of a directory's owner: root may do no more in it than whoever could put names there.
 */
#ifndef CARREL_MAKER_OWNER_H
#define CARREL_MAKER_OWNER_H

/* Takes the identity of the owner of `dir` until owner_leave(). Without root nothing changes. It does not nest. */
void owner_enter(int dir);
void owner_leave(void);

#endif
