/*
 * maker/box.h - the BOX steps: the box's first process builds its new root and everything in it.
 */
#ifndef CARREL_MAKER_BOX_H
#define CARREL_MAKER_BOX_H

#include "maker/namespace.h"
#include "maker/watched.h"
#include "plan/pack.h"

struct box {
        int root; /* the new root; -1 before STEP_ROOT */
        /* beside it, read-only: holds what covers hidden files and directories, and the scratch */
        int workshop;
        int scratch; /* the tmpfs of the private places; -1 before STEP_SCRATCH */
        /* private disk for some of them: a detached mount, attached by STEP_DISK; -1: none, or
         * not created */
        int image;
        const struct watched *watched; /* or a directory, opened by its path; not NULL */
        /* a clone of a kept root (maker/prepared.h), in place of the shared steps; -1: none */
        int prepared;
        const int *sources; /* O_PATH descriptors, or detached trees where is_tree[i] is set */
        const unsigned char *is_tree;
        struct namespace_sockets sockets;
        /* a second descriptor of the private disk: pid 1 checks it for free space; -1: not kept */
        int disk;
        int upper; /* what root inside writes to an image, above it; -1: not kept */
        int lower[PLAN_SOURCES_MAX]; /* attached layers of an image, the lowest first */
        size_t lower_count;
        /* where the workshop is attached: PLAN_STAND with a container runtime, else NULL: a place
         * where a box uses nothing of the host */
        const char *stand;
        struct step serve; /* of virtiofsd, started with the machine; path NULL: none */
        struct step saved; /* the machine, or where it is saved; op 0: neither */
        int memory;        /* of the machine that is saved; -1: none is */
        int alive;         /* a pipe that ends with virtiofsd; -1: none */
        int stream; /* to the guest in a container or machine; -1: this process becomes pid 1 */
        uint32_t setup_id; /* uid and gid of the relay of a container */
        /* enum place_links: an image is attached, and then a directory of the user, which may have
         * planted links; 0: neither */
        unsigned char has_foreign;
        unsigned char has_proc; /* a new /proc is attached: below it there are none */
};

/* Runs one step of the BOX phase. Returns 0 or -errno; -ENOTSUP for a step of another phase. */
int box_step(struct box *box, const struct step *s);

/* Creates an empty directory in the new root, if there is none. Returns 0 or -errno. */
int box_make_directory(const struct box *box, const char *path);

#endif
