/*
 * http/crowd.h - limits the connections and bytes of each owner, so that one owner cannot use up a
 * listener.
 *
 * Pure, except that it allocates memory. A member is embedded in the struct that serves a
 * connection. Its owner is "" (unknown) until the caller is known. If a place is needed, members
 * that wait for a head are closed first, the longest waiting first.
 */
#ifndef CARREL_HTTP_CROWD_H
#define CARREL_HTTP_CROWD_H

#include <stddef.h>

#include "base/error.h"

enum {
        CROWD_MAX = 1024,                /* members */
        CROWD_OWNER_MAX = CROWD_MAX / 4, /* of one owner */
        CROWD_NOBODY_MAX = 128,          /* whose owner is still unknown */
        CROWD_BYTES_MAX = 16 << 20,      /* bytes of one owner's request bodies */
        /* bytes of one owner's answers: those collected for them, and those that wait to be read */
        CROWD_ANSWERS_MAX = 32 << 20,
        CROWD_ANSWERS_ALL_MAX = 8 * CROWD_ANSWERS_MAX,
        CROWD_RETRY_S = 1, /* seconds in Retry-After */
};

struct crowd_owner;

/* The purpose of the bytes that a member holds. */
enum crowd_use { CROWD_BODIES, CROWD_ANSWERS, CROWD_USES };

struct crowd {
        struct crowd_owner *owners;
        unsigned count;
        size_t answers; /* bytes of all members */
};

struct crowd_member {
        struct crowd *crowd; /* NULL: not a member */
        struct crowd_owner *owner;
        struct crowd_member *before, *behind; /* of the same owner, ordered by waiting time */
        size_t bytes[CROWD_USES];
        /* no request head has arrived: the connection may be closed */
        int is_waiting;
        /* ends the connection, which leaves the crowd before this returns */
        void (*let_go)(struct crowd_member *m);
};

/*
 * Counts a new connection, which waits for its head. `owner` is copied; NULL: not known yet.
 * Members whose owner is unknown are closed for new connections even while they are busy. Errors:
 * ERROR_QUOTA_EXCEEDED (the owner has too many busy connections), ERROR_UNAVAILABLE (all places are
 * busy), ERROR_NO_MEMORY.
 */
int crowd_join(struct crowd *c, struct crowd_member *m, const char *owner,
               void (*let_go)(struct crowd_member *m), struct error *e);

/* Sets the owner once it is known. On failure (the same errors) the owner does not change. */
int crowd_name(struct crowd_member *m, const char *owner, struct error *e);

/*
 * crowd_hold() counts `len` more bytes. It returns -1, and counts nothing, if the owner would then
 * hold too much, or for answers, if all owners together would. crowd_too_much() writes that error
 * and always returns -1. crowd_owe() counts answer bytes that already exist, also past the limit.
 * crowd_is_over() reports whether new answer bytes would exceed it.
 */
int crowd_hold(struct crowd_member *m, enum crowd_use use, size_t len);
int crowd_too_much(enum crowd_use use, struct error *e);
void crowd_owe(struct crowd_member *m, size_t len);
int crowd_is_over(const struct crowd_member *m);

/*
 * crowd_release() counts `len` bytes less; crowd_hold_nothing() counts none for that use. Both
 * accept a struct that is no member.
 */
void crowd_release(struct crowd_member *m, enum crowd_use use, size_t len);
void crowd_hold_nothing(struct crowd_member *m, enum crowd_use use);

/* crowd_busy(): a head has arrived. crowd_wait(): the connection waits for the next head. */
void crowd_busy(struct crowd_member *m);
void crowd_wait(struct crowd_member *m);

/* Accepts a struct that is no member. */
void crowd_leave(struct crowd_member *m);

#endif
