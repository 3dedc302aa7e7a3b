/*
 * clock/clock.c - what time it is, and waiting until then.
 *
 * Room: clock (words). Touches: clock, fd; in a build for tests the environment, one file and its
 * mapping. Theory: the test's file is mapped before main(), because a process that has closed the
 * world can open nothing. The mapping is shared, so it outlives forks and shows each change.
 * Nothing wakes a process whose clock was moved: it waits in slices, so it sees that after one of
 * them at the latest.
 */
#include "clock/clock.h"

#include <stdlib.h>
#include <time.h>

#include "base/switches.h"

enum { WAIT_MAX_MS = 60000 }; /* longer waits are taken in pieces: poll(2) counts in an int */

static uint64_t
read_clock(clockid_t clock)
{
        struct timespec t;

        (void)clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t
clock_work_us(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#ifdef CARREL_TEST_SWITCHES
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BOOT, WALL, OFFSETS, SLICE_MS = 10, WORD_ROOM = 4096 };

static const char variable[] = "CARREL_TEST_CLOCK";
static const int64_t *offsets; /* NULL: the real clocks */
static char word[WORD_ROOM];
static char *environment[] = { NULL, NULL };

__attribute__((constructor)) static void
open_test_clock(void)
{
        const char *path = getenv(variable);
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *mapping;

        if (fd < 0)
                return;
        mapping = mmap(NULL, OFFSETS * sizeof *offsets, PROT_READ, MAP_SHARED, fd, 0);
        (void)close(fd);
        if (mapping == MAP_FAILED)
                return;
        offsets = mapping;
        (void)snprintf(word, sizeof word, "%s=%s", variable, path);
        environment[0] = word;
}

static uint64_t
moved(int which)
{
        return offsets ? (uint64_t)__atomic_load_n(offsets + which, __ATOMIC_SEQ_CST) : 0;
}

uint64_t
clock_boot_ms(void)
{
        return read_clock(CLOCK_BOOTTIME) + moved(BOOT);
}

uint64_t
clock_wall_ms(void)
{
        return read_clock(CLOCK_REALTIME) + moved(WALL);
}

int
clock_slice_ms(int span_ms)
{
        return offsets && span_ms > SLICE_MS ? SLICE_MS : span_ms;
}

char *const *
clock_environment(void)
{
        return environment;
}
#else
uint64_t
clock_boot_ms(void)
{
        return read_clock(CLOCK_BOOTTIME);
}

uint64_t
clock_wall_ms(void)
{
        return read_clock(CLOCK_REALTIME);
}

int
clock_slice_ms(int span_ms)
{
        return span_ms;
}

char *const *
clock_environment(void)
{
        static char *const none[] = { NULL };

        return none;
}
#endif

int
clock_poll(struct pollfd *fds, size_t count, uint64_t until_ms)
{
        for (;;) {
                uint64_t now = until_ms == CLOCK_NEVER ? 0 : clock_boot_ms();
                uint64_t left = now < until_ms ? until_ms - now : 0;
                int span = until_ms == CLOCK_NEVER ? -1
                           : left > WAIT_MAX_MS    ? WAIT_MAX_MS
                                                   : (int)left;
                int got = poll(fds, count, clock_slice_ms(span));

                if (got != 0 || left == 0)
                        return got;
        }
}
