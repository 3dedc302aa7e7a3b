/*
 * sandbox/limits.c - enforces limits during a run: time, CPU time, free space, and the time a
 * reader may take.
 *
 * Room: sandbox (joining). Touches: clock, the backend, file systems (reading only).
 */
#include <sys/statvfs.h>

#include "base/floor.h"
#include "clock/clock.h"
#include "sandbox/session.h"

enum { FLOOR_LOOK_MS = 250, CPU_LOOK_MIN_MS = 2, LATE_MS = 2000 };

static void
look_at_cpu(struct session *s, uint64_t now)
{
        /* the limit in nanoseconds may overflow */
        uint64_t used_ns = s->o->backend->cpu_ns(s->box), used_ms = used_ns / 1000000;
        uint64_t left_ms;

        if (used_ns == UINT64_MAX) { /* no counters yet: the backend reports when there are */
                s->cpu_look = SESSION_NEVER;
                return;
        }
        if (used_ms >= s->o->cpu_ms) {
                session_end(s, OUTCOME_CPU_LIMIT);
                s->cpu_look = SESSION_NEVER;
                return;
        }
        left_ms = (s->o->cpu_ms - used_ms) / (s->o->cpu_count > 0 ? s->o->cpu_count : 1);
        s->cpu_look = now + (left_ms < CPU_LOOK_MIN_MS ? CPU_LOOK_MIN_MS : left_ms);
}

static void
look_at_floor(struct session *s, uint64_t now)
{
        s->floor_look = now + FLOOR_LOOK_MS;
        for (size_t i = 0; i < s->o->floor_count; i++) {
                struct statvfs fs;

                if (fstatvfs(s->o->floors[i], &fs) == 0 && floor_is_passed(&fs, s->o->floor_mb))
                        session_end(s, OUTCOME_POLICY_KILLED);
        }
}

uint64_t
session_look_at_limits(struct session *s)
{
        const uint64_t times[] = { s->deadline, s->cpu_look, s->floor_look, s->grace };
        uint64_t now = clock_boot_ms(), next = SESSION_NEVER;

        if (s->is_killed || s->is_decided)
                return SESSION_NEVER;
        if (now >= s->deadline)
                session_end(s, OUTCOME_TIMED_OUT);
        else if (now >= s->grace)
                session_end(s, OUTCOME_KILLED);
        if (now >= s->cpu_look)
                look_at_cpu(s, now);
        if (now >= s->floor_look)
                look_at_floor(s, now);
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
                if (times[i] < next)
                        next = times[i];
        next = s->cpu_look < next ? s->cpu_look : next;
        return next > now ? next - now : 0;
}

/*
 * After the runtime ended a command, a blocked reader may delay the return for a moment only. After
 * a command that ended by itself, all output is kept until it is read.
 */
uint64_t
session_look_at_drain(struct session *s)
{
        uint64_t now;

        if (!s->box_is_done || !s->is_cut)
                return SESSION_NEVER;
        now = clock_boot_ms();
        if (s->late == SESSION_NEVER)
                s->late = session_after(now, LATE_MS);
        if (now >= s->late)
                session_abandon_output(s);
        return s->late > now ? s->late - now : 0;
}
