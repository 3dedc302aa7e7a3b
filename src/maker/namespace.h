/*
 * maker/namespace.h - the BOX steps that configure the box's own namespaces.
 */
#ifndef CARREL_MAKER_NAMESPACE_H
#define CARREL_MAKER_NAMESPACE_H

#include <stddef.h>

#include "plan/step.h"
#include "wall/wall.h"

/* The sockets that these steps open and leave to pid 1. */
struct namespace_sockets {
        int control; /* to the keeper of the box, which receives the wall's sockets here */
        int mapped;  /* a byte can be read once the maker has mapped a range of ids */
        /* routed wall: spare sockets for ports that are requested later; pid 1 keeps them */
        int stock[WALL_STOCK_MAX];
        size_t stock_count;
        /* without a wall: the stock is the one or two sockets of guest/names.h */
        unsigned char has_names;
        int tap; /* of a virtual machine: for QEMU; -1: none */
};

/* As box_step(), for these steps; -ENOTSUP for every other one. */
int namespace_step(struct namespace_sockets *sockets, const struct step *s);

/* Adds descriptors to the stock, in ascending order. 0 or -errno. */
int namespace_keep(struct namespace_sockets *sockets, const int *fds, size_t count);

/*
 * The lowest number for a descriptor that pid 1 keeps: above the stock, and above those that
 * commands bring, even if the limit allows few.
 */
int namespace_first_kept(const struct namespace_sockets *sockets);

#endif
