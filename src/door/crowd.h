/*
 * door/crowd.h - who holds the places of one listener, so that nobody holds them all. Pure, but for memory.
 *
 * A member is embedded in whatever serves a connection. It belongs to nobody ("") until it is known who asks, and then to its owner.
 * Where a place is wanted, members that wait for a head are let go first, the longest waiting first.
 */
#ifndef CARREL_DOOR_CROWD_H
#define CARREL_DOOR_CROWD_H

#include <stddef.h>

#include "base/error.h"

enum {
        CROWD_MAX = 1024,                      /* members */
        CROWD_OWNER_MAX = CROWD_MAX / 4,       /* of one owner */
        CROWD_NOBODY_MAX = 128,                /* of those who have not said who they are */
        CROWD_BYTES_MAX = 16 << 20,            /* of one owner's bodies */
        CROWD_ANSWERS_MAX = 32 << 20,          /* of one owner's answers: what is collected for them, and what waits to be read */
        CROWD_ANSWERS_ALL_MAX = 8 * CROWD_ANSWERS_MAX,
        CROWD_RETRY_S = 1,                     /* what Retry-After says */
};

struct crowd_owner;

/* What the bytes are for that a member holds. */
enum crowd_use { CROWD_BODIES, CROWD_ANSWERS, CROWD_USES };

struct crowd {
        struct crowd_owner *owners;
        unsigned count;
        size_t answers;                        /* bytes of all */
};

struct crowd_member {
        struct crowd *crowd;                   /* NULL: no member */
        struct crowd_owner *owner;
        struct crowd_member *before, *behind;  /* of the same owner, by how long they wait */
        size_t bytes[CROWD_USES];
        int is_waiting;                        /* no head of a request has come: it may be let go */
        void (*let_go)(struct crowd_member *m);        /* ends the connection, which leaves the crowd before this returns */
};

/*
 * Counts a new connection, which waits for its head. `owner` is copied; NULL: it is not known yet. Those who said nothing of themselves give way to
 * newcomers even while they are busy. Errors: ERROR_QUOTA_EXCEEDED (the owner has too many that are busy), ERROR_UNAVAILABLE (all have), ERROR_NO_MEMORY.
 */
int crowd_join(struct crowd *c, struct crowd_member *m, const char *owner, void (*let_go)(struct crowd_member *m), struct error *e);

/* It is known now whose it is. On failure (the same errors) it stays whose it was. */
int crowd_name(struct crowd_member *m, const char *owner, struct error *e);

/*
 * It holds `len` bytes more. -1: that is too much for its owner (of answers: or for all), and they are not counted; crowd_too_much() says so, and always
 * returns -1. crowd_owe() counts answers that are there already, past the bound too; crowd_is_over(): new ones would be too much.
 */
int crowd_hold(struct crowd_member *m, enum crowd_use use, size_t len);
int crowd_too_much(enum crowd_use use, struct error *e);
void crowd_owe(struct crowd_member *m, size_t len);
int crowd_is_over(const struct crowd_member *m);

/* It holds so many less; it holds none any more for that use. Both accept one that is no member. */
void crowd_release(struct crowd_member *m, enum crowd_use use, size_t len);
void crowd_hold_nothing(struct crowd_member *m, enum crowd_use use);

/* A head came; and: the next one is waited for. */
void crowd_busy(struct crowd_member *m);
void crowd_wait(struct crowd_member *m);

/* Accepts one that is no member. */
void crowd_leave(struct crowd_member *m);

#endif
