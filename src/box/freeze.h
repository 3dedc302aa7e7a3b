/*
 * box/freeze.h - stops all processes of all execs, and continues them.
 */
#ifndef CARREL_BOX_FREEZE_H
#define CARREL_BOX_FREEZE_H

struct box;
struct keeper;

void freeze_ask(struct keeper *k, int is_wanted);
/* all processes are frozen, or -errno */
void freeze_heard(struct box *b, int result);

#endif
