/*
 * base/sample.h - a few of many, each with the same chance, without knowing how many there are
 * (Vitter's algorithm R).
 */
#ifndef CARREL_BASE_SAMPLE_H
#define CARREL_BASE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* `state` for sample_place(): not for secrets. */
static inline uint64_t
sample_begin(void)
{
        struct timespec now = { 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
}

/* Which of `room` places the item takes that comes after `seen` others; `room`: none. */
static inline size_t
sample_place(size_t seen, size_t room, uint64_t *state)
{
        if (seen < room)
                return seen;
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return room > 0 && (*state >> 33) % (seen + 1) < room
                       ? (size_t)((*state >> 33) % (seen + 1))
                       : room;
}

#endif
