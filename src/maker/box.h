/*
 * maker/box.h - the BOX steps: the new root and what is in it, done by the box's first process on itself.
 */
#ifndef CARREL_MAKER_BOX_H
#define CARREL_MAKER_BOX_H

#include "plan/pack.h"
#include "wall/wall.h"

struct box {
        int root;                          /* the new root; -1 before STEP_ROOT */
        int workshop;                      /* beside it, read-only: what hides files and directories, and the scratch */
        int scratch;                       /* the tmpfs of the private places; -1 before STEP_SCRATCH */
        int image;                         /* where some of them lie instead: a detached mount, attached by STEP_DISK; -1: none, or not made */
        const int *sources;                /* O_PATH descriptors, or detached trees where is_tree[i] is set */
        const unsigned char *is_tree;
        int control;                       /* to whoever keeps the box: the wall's sockets go there */
        int stock[WALL_STOCK_MAX];         /* of a routed wall: sockets for ports that are asked for later, which pid 1 keeps */
        size_t stock_count;
        int disk;                          /* the private disk once more, which pid 1 keeps to see whether it is full; -1: not kept */
        unsigned char has_names;           /* without a wall: the stock is the one or two sockets of guest/names.h */
        unsigned char has_foreign;         /* something of the user's is attached: names may hold links planted there */
};

/* Does one step of the BOX phase. 0 or -errno; -ENOTSUP for a step of another phase. */
int box_step(struct box *box, const struct step *s);

#endif
