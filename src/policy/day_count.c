/*
 * policy/day_count.c - the bytes of a day: clocks, parts, and what is left.
 *
 * Room: policy (deciding, pure). Touches: nothing.
 */
#include "policy/day_count.h"

#include <stdio.h>
#include <string.h>

static void
move_to(struct day_count *c, uint64_t time_ms, const struct day_now *now)
{
        c->time_ms = time_ms;
        c->boot_ms = now->boot_ms;
        (void)snprintf(c->boot_id, sizeof c->boot_id, "%s", now->boot_id);
}

struct day_count
day_count_first(const struct day_now *now)
{
        struct day_count c = { .day = now->wall_ms / DAY_COUNT_DAY_MS };

        move_to(&c, now->wall_ms, now);
        return c;
}

/* The boot clock of another boot says nothing: the wall clock is asked, but not believed to go
 * back. */
static uint64_t
time_of(const struct day_count *c, const struct day_now *now)
{
        if (strcmp(c->boot_id, now->boot_id) == 0)
                return c->time_ms + (now->boot_ms > c->boot_ms ? now->boot_ms - c->boot_ms : 0);
        return now->wall_ms > c->time_ms ? now->wall_ms : c->time_ms;
}

void
day_count_look(struct day_count *c, const struct day_now *now)
{
        uint64_t time_ms = time_of(c, now), day = time_ms / DAY_COUNT_DAY_MS;

        if (day > c->day) {
                c->day = day;
                c->bytes = 0;
        }
        move_to(c, time_ms, now);
}

uint64_t
day_count_end_ms(const struct day_count *c)
{
        uint64_t end_ms = (c->day + 1) * DAY_COUNT_DAY_MS;

        return c->boot_ms + (end_ms > c->time_ms ? end_ms - c->time_ms : 0);
}

static uint64_t
part_of(uint64_t max)
{
        uint64_t part = max / DAY_COUNT_PARTS + (max % DAY_COUNT_PARTS != 0);

        return part < DAY_COUNT_PART_MAX ? part : DAY_COUNT_PART_MAX;
}

uint64_t
day_count_take(struct day_count *c, uint64_t max)
{
        uint64_t left = max > c->bytes ? max - c->bytes : 0, part = part_of(max);

        if (part > left)
                part = left;
        c->bytes += part;
        return part;
}

void
day_count_give(struct day_count *c, uint64_t day, uint64_t bytes)
{
        if (day == c->day)
                c->bytes -= bytes < c->bytes ? bytes : c->bytes;
}
