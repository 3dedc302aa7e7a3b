/*
 * gate/wall.c - one wall: its names, and what may pass.
 *
 * Room: gate (acting). Touches: its link, clock.
 * Theory: a wall does not know other walls.
 */
#include "gate/wall.h"

#include <stdio.h>

#include "gate/test_switches.h"
#include "wire/message.h"

enum { NAMES_PER_SECOND = 8, SECOND_MS = 1000 };

struct wall *
wall_find(struct gate *g, uint32_t number)
{
        for (struct wall *w = g->walls; w; w = w->next)
                if (w->number == number)
                        return w;
        return NULL;
}

/* -- the box ----------------------------------------------------------------------------------- */

bool
wall_can_tell(const struct wall *w)
{
        return w->link.fd >= 0 && wire_has_room(w->link.fd);
}

void
wall_tell_named(struct wall *w, uint32_t index, const char *host, bool is_retired)
{
        struct wire_wall_named m = { .index = index, .is_retired = is_retired };

        (void)snprintf(m.host, sizeof m.host, "%s", host);
        if (w->link.fd >= 0)
                (void)wire_send(w->link.fd, WIRE_WALL_NAMED, &m, sizeof m, NULL, 0);
}

/* -- what may pass ----------------------------------------------------------------------------- */

/* Fills a bucket by the elapsed time, at most one second's amount. */
static void
refill(struct bucket *b, uint64_t per_second, uint64_t most)
{
        uint64_t now = loop_now_ms(), passed = now - b->at_ms;

        if (passed == 0)
                return;
        if (passed > SECOND_MS * (most / per_second + 1))
                passed = SECOND_MS * (most / per_second + 1);
        b->tokens += per_second * passed / SECOND_MS;
        if (b->tokens > most)
                b->tokens = most;
        b->at_ms = now;
}

size_t
wall_may_send(struct wall *w, bool is_out, size_t want)
{
        return is_out ? quota_room(&w->quota, want) : want;
}

size_t
wall_allowance(struct wall *w, bool is_out, size_t want)
{
        struct bucket *b = is_out ? &w->out : &w->in;

        want = wall_may_send(w, is_out, want);
        if (w->caps.bytes_per_second == 0)
                return want;
        refill(b, w->caps.bytes_per_second, w->caps.bytes_per_second / 4 + 1500);
        return b->tokens < want ? (size_t)b->tokens : want;
}

bool
wall_count_bytes(struct wall *w, bool is_out, size_t len)
{
        struct bucket *b = is_out ? &w->out : &w->in;
        uint64_t cap = is_out ? w->caps.bytes_out : w->caps.bytes_in;

        counted_add(&w->counted, is_out, len);
        if (is_out)
                quota_take(&w->quota, len);
        turn_use(&w->turn, len / TURN_BYTES);
        b->tokens -= len < b->tokens ? len : b->tokens;
        return cap == 0 || (is_out ? w->counted.out : w->counted.in) <= cap ||
               switch_is_off(SWITCH_CAPS);
}

static bool
may_name(struct wall *w)
{
        if (switch_is_off(SWITCH_CAPS))
                return true;
        /* whole seconds, because the tokens of a shorter time round down to 0 */
        if (loop_now_ms() - w->fresh.at_ms >= SECOND_MS)
                refill(&w->fresh, NAMES_PER_SECOND, WALL_NAMES_BURST);
        if (w->fresh.tokens == 0)
                return false;
        w->fresh.tokens--;
        return true;
}

uint32_t
wall_give_name(struct wall *w, const struct egress_host *host)
{
        uint32_t retired = 0, index = 0;
        int is_new = 0;

        if (names_has(w->names, host) || (wall_can_tell(w) && may_name(w)))
                index = names_give(w->names, host, loop_now_ms(), &is_new, &retired);
        if (retired != 0)
                wall_tell_named(w, retired, names_was(w->names, retired)->text, true);
        if (index != 0 && is_new)
                wall_tell_named(w, index, host->text, false);
        return index;
}
