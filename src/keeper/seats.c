/*
 * keeper/seats.c - calls that wait for one of a few places.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include "keeper/seats.h"

#include <string.h>

static size_t
count(const struct seat *list, const char *owner)
{
        size_t found = 0;

        for (const struct seat *seat = list; seat; seat = seat->next)
                found += !owner || strcmp(seat->call->caller.owner, owner) == 0;
        return found;
}

static bool
has_place(const struct seats *seats, const struct call *c)
{
        return count(seats->inside, NULL) < seats->inside_max &&
               count(seats->inside, c->caller.owner) < seats->owner_inside_max;
}

bool
seats_enter(struct seats *seats, struct seat *seat)
{
        if (!has_place(seats, seat->call))
                return false;
        seat->next = seats->inside;
        seats->inside = seat;
        seat->is_inside = true;
        return true;
}

int
seats_wait(struct seats *seats, struct seat *seat, struct error *e)
{
        const char *owner = seat->call->caller.owner;
        struct seat **at = &seats->waiting;
        bool is_own = count(seats->waiting, owner) >= seats->owner_waiting_max;

        if (is_own || count(seats->waiting, NULL) >= seats->waiting_max) {
                (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "",
                              is_own ? seats->owner_reason : seats->reason,
                              "%zu %s already, of %.64s, and no more may",
                              is_own ? seats->owner_waiting_max : seats->waiting_max, seats->says,
                              is_own ? owner : "all owners");
                error_hint(e, "Repeat the call when some of them have begun.");
                return -1;
        }
        while (*at)
                at = &(*at)->next;
        *at = seat;
        seat->next = NULL;
        seat->is_waiting = true;
        return 0;
}

static void
take_out(struct seat **list, const struct seat *seat)
{
        for (struct seat **at = list; *at; at = &(*at)->next)
                if (*at == seat) {
                        *at = seat->next;
                        return;
                }
}

void
seats_leave(struct seats *seats, struct seat *seat)
{
        if (seat->is_inside)
                take_out(&seats->inside, seat);
        if (seat->is_waiting)
                take_out(&seats->waiting, seat);
        seat->is_inside = seat->is_waiting = false;
}

struct seat *
seats_next(struct seats *seats)
{
        for (struct seat *seat = seats->waiting; seat; seat = seat->next)
                if (has_place(seats, seat->call))
                        return seat;
        return NULL;
}
