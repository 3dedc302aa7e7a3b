/*
 * guest/exec_kill.c - kills a command's whole process tree, pass by pass.
 *
 * Room: guest (program). Touches: processes, clock.
 *
 *     quick, quick, quick, ... -> frozen, frozen, ... until the root above the tree has ended
 *
 * Theory: pid 1 kills, because no process inside can stop or kill it. It never waits for a tree: it
 * does a pass, returns, and comes back at growing intervals, because a process may be in a call
 * that no signal ends. Passes are quick at first, and frozen (guest/tree.h) if quick ones were not
 * enough. A stopped reaper is continued; one without descendants that does not end is killed. If a
 * reaper was killed, pid 1 kills every descendant that belongs to no command: in a box with reapers
 * it can have no other origin.
 */
#include <signal.h>

#include "clock/clock.h"
#include "guest/exec.h"
#include "guest/tree.h"

enum { QUICK_PASSES = 7, ALONE_MAX = 3, STRAY_FINDS = 2, STRAY_PASSES = 20, PAUSE_MAX_MS = 4096 };

static struct tree_root roots[EXEC_MAX];
static struct exec *owners[EXEC_MAX]; /* of each root */

void
execs_kill_tree(struct execs *x, uint32_t exec)
{
        for (size_t i = 0; i < x->used; i++)
                if (x->rows[i].state != EXEC_FREE && (exec == 0 || x->rows[i].number == exec) &&
                    x->rows[i].child != 0 && !x->rows[i].is_dying) {
                        x->rows[i].is_dying = 1;
                        x->rows[i].passes = x->rows[i].alone = 0;
                        x->due_ms = 0;
                }
}

/*
 * If anything must be killed, every child is a root, so that no other command's processes are
 * touched.
 */
static size_t
take_roots(struct execs *x)
{
        int is_needed = x->has_strays;
        size_t count = 0;

        for (size_t i = 0; i < x->used; i++)
                is_needed |= x->rows[i].is_dying;
        for (size_t i = 0; is_needed && i < x->used; i++) {
                struct exec *e = &x->rows[i];

                if (e->state == EXEC_FREE || e->child == 0)
                        continue;
                owners[count] = e;
                roots[count++] = (struct tree_root){ .pid = e->child,
                                                     .is_dying = e->is_dying,
                                                     .is_included = !e->has_reaper };
        }
        return count;
}

/* 1, 2, 4, ... milliseconds; frozen passes start again at 1. */
static int
pause_after(unsigned passes)
{
        unsigned n = passes <= QUICK_PASSES ? passes : passes - QUICK_PASSES;

        return n < 13 ? 1 << (n > 0 ? n - 1 : 0) : PAUSE_MAX_MS;
}

static int
sooner(int a, int b)
{
        return a < 0 || b < a ? b : a;
}

/* Nothing lives below a reaper, but it has not ended. */
static void
wake(struct exec *e, int was_frozen)
{
        if (!e->has_reaper)
                return;
        e->alone += was_frozen != 0;
        (void)kill(e->child, e->alone > ALONE_MAX ? SIGKILL : SIGCONT);
}

static int
after_strays(struct execs *x, const struct tree_strays *strays, int was_frozen)
{
        x->stray_passes++;
        if (strays->living > 0)
                x->stray_finds = 0;
        else if (was_frozen && (strays->unknown == 0 || x->stray_passes > STRAY_PASSES))
                x->stray_finds++;
        x->has_strays = x->stray_finds < STRAY_FINDS;
        return x->has_strays ? pause_after(x->stray_passes) : -1;
}

/* Milliseconds until the next pass; -1: none is needed. */
static int
pass(struct execs *x, size_t count)
{
        struct tree_strays strays = { .is_dying = x->has_strays != 0 };
        int is_frozen = x->has_strays; /* strays have no root whose end proves that they are
                                        * gone */
        int next = -1, again, result;

        for (size_t i = 0; i < count; i++)
                is_frozen |= roots[i].is_dying && owners[i]->passes >= QUICK_PASSES;
        result = tree_pass(roots, count, &strays, is_frozen);
        if (result < 0)
                return PAUSE_MAX_MS;
        is_frozen |= result;
        for (size_t i = 0; i < count; i++) {
                if (!roots[i].is_dying)
                        continue;
                owners[i]->passes++;
                if (roots[i].living > 0)
                        owners[i]->alone = 0;
                else
                        wake(owners[i], is_frozen);
                next = sooner(next, pause_after(owners[i]->passes));
        }
        if (!x->has_strays)
                return next;
        again = after_strays(x, &strays, is_frozen);
        return again < 0 ? next : sooner(next, again);
}

int
execs_kill(struct execs *x)
{
        size_t count = take_roots(x);
        uint64_t now;
        int next;

        if (count == 0 && !x->has_strays)
                return -1;
        now = clock_boot_ms();
        if (now < x->due_ms) /* woken by another event */
                return (int)(x->due_ms - now);
        next = pass(x, count);
        x->due_ms = clock_boot_ms() + (next > 0 ? (uint64_t)next : 0);
        return next;
}
