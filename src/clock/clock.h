/*
 * clock/clock.h - what time it is, and waiting until then.
 *
 * Every limit, deadline, lifetime and retry counts on the boot clock, which also counts while the
 * machine sleeps and which cannot be set. The wall clock is only for moments that people see or
 * give.
 *
 * In a build with -Dtest_switches=true, CARREL_TEST_CLOCK names a file of two int64: milliseconds
 * that a test adds to the boot clock and to the wall clock. Processes that run already see each
 * change at once: see test/rig/test_clock.py. The shipped program does not know that name.
 */
#ifndef CARREL_CLOCK_CLOCK_H
#define CARREL_CLOCK_CLOCK_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_NEVER UINT64_MAX

/* Milliseconds of the boot clock, read at the call. */
uint64_t clock_boot_ms(void);

/* Milliseconds since 1970. */
uint64_t clock_wall_ms(void);

/* Microseconds, to measure how long work takes. No test moves it, and no deadline may count on it:
 * it stops while the machine sleeps. */
uint64_t clock_work_us(void);

/* poll(2) until a moment of the boot clock (CLOCK_NEVER: no end). As poll(2); 0 only when the
 * moment has come. */
int clock_poll(struct pollfd *fds, size_t count, uint64_t until_ms);

/* A span to wait in one call, for a caller who looks at the clock after it: `span_ms` as it is (-1:
 * no end), shorter while a test may move the clock. */
int clock_slice_ms(int span_ms);

/* For a program of ours that is given no other environment: it has the same clock. Empty in the
 * shipped program. */
char *const *clock_environment(void);

#endif
