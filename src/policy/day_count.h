/*
 * policy/day_count.h - how many bytes one owner may still send today (max-egress-bytes-per-day).
 *
 * A day is one of UTC. What was counted is given back by no setting of the clock: within one boot
 * the time goes on from the first count as the boot clock does, and after a boot it is never before
 * the last count. Bytes are taken before they are sent, and what was not sent is given back.
 */
#ifndef CARREL_POLICY_DAY_COUNT_H
#define CARREL_POLICY_DAY_COUNT_H

#include <stdint.h>

enum {
        DAY_COUNT_BOOT_ID_LEN = 37,
        DAY_COUNT_PARTS = 64,          /* a part of a limit is 1/64 of it, rounded up, ... */
        DAY_COUNT_PART_MAX = 16 << 20, /* ... and at most so many bytes */
        DAY_COUNT_DAY_MS = 24 * 3600 * 1000
};

struct day_count {
        uint64_t day;     /* days since 1970-01-01 */
        uint64_t bytes;   /* taken on this day, and not given back */
        uint64_t time_ms; /* since 1970, as of the last look */
        uint64_t boot_ms; /* boot clock, at the same moment */
        char boot_id[DAY_COUNT_BOOT_ID_LEN];
};

struct day_now {
        uint64_t wall_ms, boot_ms;
        const char *boot_id;
};

/* The count of an owner of whom nothing was counted yet. */
struct day_count day_count_first(const struct day_now *now);

/* Brings it to the present: a new day begins with 0. */
void day_count_look(struct day_count *c, const struct day_now *now);

/* When the day ends, by the boot clock. After day_count_look(). */
uint64_t day_count_end_ms(const struct day_count *c);

/* Takes a part of what `max` leaves of the day. Returns the bytes; 0: it is used up. */
uint64_t day_count_take(struct day_count *c, uint64_t max);

/* Gives back bytes that were taken on `day`, and not sent. Those of another day are of no use. */
void day_count_give(struct day_count *c, uint64_t day, uint64_t bytes);

#endif
