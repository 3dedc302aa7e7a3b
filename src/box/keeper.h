/*
 * box/keeper.h - the link to one keeper: its messages, and reports to it.
 */
#ifndef CARREL_BOX_KEEPER_H
#define CARREL_BOX_KEEPER_H

#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/queue.h"

/* KEEPER_QUEUE_*: bytes that wait for one keeper. Full: no more of its messages are read. */
enum { KEEPERS_MAX = 16, KEEPER_QUEUE_FULL = 1 << 20, KEEPER_QUEUE_MAX = 16 << 20 };

struct wire_kept;
struct box;
struct wire_message;

struct keeper {
        struct keeper *next;
        struct box *box;
        uint64_t number;
        struct loop_watch watch;
        struct wire_queue queue;
        unsigned wants_frozen;  /* an answer to FREEZE is owed */
        uint64_t said_refusals; /* version of its last report of refusals
                                 * (boxstate/refusals.h) */
};

/* 0 or -1. Its first messages come from the box's call `greet`. */
int keeper_accept(struct box *b, int take_fd);
void keeper_drop(struct keeper *k);
void keeper_say_all(struct box *b, uint16_t kind, const void *body, size_t len);
/* stores it, and reports it to every keeper */
void keeper_say_found(struct box *b, const struct wire_kept *kept);
void keeper_say(struct keeper *k, uint16_t kind, const void *body, size_t len);
/* with descriptors */
void keeper_pass(struct keeper *k, uint16_t kind, const void *body, size_t len, const int *take_fds,
                 size_t fd_count);
/* watches for room in the socket while messages are queued */
void keeper_watch(struct keeper *k);

#endif
