/*
 * keeper/seats.h - calls that wait for one of a few places, in order of arrival. So many places are
 * for one owner that nobody's calls wait for another's.
 */
#ifndef CARREL_KEEPER_SEATS_H
#define CARREL_KEEPER_SEATS_H

#include "keeper/keeper.h"

struct seat {
        struct seat *next;
        struct call *call;
        bool is_inside, is_waiting;
};

struct seats {
        size_t inside_max, owner_inside_max, waiting_max, owner_waiting_max;
        /* reasons of a refusal, and what waits: "commands wait to be judged" */
        const char *owner_reason, *reason, *says;
        struct seat *inside, *waiting; /* waiting: oldest first */
};

/* Takes a place for seat->call. false: none is free for its owner. */
bool seats_enter(struct seats *seats, struct seat *seat);

/* Waits for a place. Errors: ERROR_QUOTA_EXCEEDED with one of the reasons. */
int seats_wait(struct seats *seats, struct seat *seat, struct error *e);

/* Gives up the place, or stops waiting. For any member, also one that does neither. */
void seats_leave(struct seats *seats, struct seat *seat);

/* The oldest that waits and would get a place now; NULL: none. */
struct seat *seats_next(struct seats *seats);

#endif
