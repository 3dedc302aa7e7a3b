/*
 * keeper/looker.h - the link to carrel-files, which forks a process for each sandbox that is looked
 * at (changes/message.h).
 */
#ifndef CARREL_KEEPER_LOOKER_H
#define CARREL_KEEPER_LOOKER_H

#include "keeper/keeper.h"

/* Takes the keeper's end of the socket pair; -1: there is no carrel-files. 0 or -errno. */
int looker_open(struct keeper *k, int take_fd);

/* Sends an order. Takes the descriptors. 0, or -1: it is not there. */
int looker_order(uint16_t kind, const void *body, size_t len, const int *take_fds, size_t count);

#endif
