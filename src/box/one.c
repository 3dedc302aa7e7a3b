/*
 * box/one.c - a box of one command: the supervisor of `carrel run`.
 *
 * Room: box (program). Touches: clock.
 *
 *     running --it ended, or a limit ends the box--> decided --the engine is gone--> FINISHED
 *
 * Theory: the box and its command are one. A limit of the command therefore ends the box, and the
 * engine kills all processes at once. What the box used is the command's use, so the end is
 * reported after the engine has counted it. The first cause decides the outcome (P10). Output goes
 * past this process, through pipes of the keeper.
 */
#include "box/one.h"

#include <errno.h>
#include <sys/wait.h>

#include "box/keeper.h"
#include "box/limits.h"
#include "box/state.h"
#include "outcome/outcome.h"

void
one_spawned(struct box *b)
{
        if (!b->execs || b->one.decided_ms != 0)
                return;
        limits_watch(b->execs);
        limits_floor(b);
}

/* -- the command ------------------------------------------------------------------------------- */

void
one_take_streams(struct box *b, struct wire_message *m)
{
        for (size_t i = 0; i < 3 && i < m->fd_count && b->one.streams[i] < 0; i++) {
                b->one.streams[i] = m->fds[i];
                m->fds[i] = -1;
        }
}

int
one_give_streams(struct exec *x)
{
        for (size_t i = 0; i < 3; i++) {
                x->theirs[i] = x->box->one.streams[i];
                x->box->one.streams[i] = -1;
        }
        return x->theirs[2] < 0 ? -EINVAL : 0;
}

void
one_started(struct box *b, const struct wire_box_listed *listed, int take_terminal)
{
        if (take_terminal >= 0 && b->keepers)
                keeper_pass(b->keepers, WIRE_BOX_STARTED, listed, sizeof *listed, &take_terminal,
                            1);
        else
                keeper_say_all(b, WIRE_BOX_STARTED, listed, sizeof *listed);
}

/* -- the end ----------------------------------------------------------------------------------- */

static void
decided(struct exec *x)
{
        loop_timer_remove(&x->timer);
        loop_timer_remove(&x->box->floor);
        if (x->box->one.decided_ms == 0)
                x->box->one.decided_ms = loop_now_ms();
}

void
one_ended(struct exec *x, const struct engine_ended *ended)
{
        struct one *one = &x->box->one;

        if (one->has_ended)
                return;
        one->has_ended = 1;
        one->ended = *ended;
        decided(x);
}

void
one_kill(struct exec *x, uint32_t word)
{
        if (x->box->one.decided_ms == 0)
                x->word = word;
        decided(x);
        x->box->calls->end(x->box, BOX_GONE_STOPPED);
}

static uint32_t
word_of_command(const struct exec *x)
{
        const struct engine_ended *ended = &x->box->one.ended;
        unsigned is_exit = ended->code == CLD_EXITED;

        if (x->box->one.usage.oom_kills > 0 && (!is_exit || ended->status != 0))
                return OUTCOME_OOM_KILLED;
        if (ended->is_cpu_used)
                return OUTCOME_CPU_LIMIT;
        return is_exit ? OUTCOME_EXITED : OUTCOME_SIGNALED;
}

/* Of a box that ended before its command. */
static uint32_t
word_of_box(const struct exec *x)
{
        const struct box *b = x->box;

        if (b->one.usage.oom_kills > 0)
                return OUTCOME_OOM_KILLED;
        if (b->gone.cause == BOX_GONE_STOPPED)
                return OUTCOME_KILLED;
        if (b->gone.cause == BOX_GONE_POLICY || b->one.usage.is_over_disk)
                return OUTCOME_POLICY_KILLED;
        /* the maker has the same limit */
        return x->state == BOX_EXEC_RUNNING && loop_now_ms() >= x->deadline_ms ? OUTCOME_TIMED_OUT
                                                                               : OUTCOME_LOST;
}

void
one_measure(struct exec *x)
{
        const struct box *b = x->box;
        const struct one *one = &b->one;
        const struct engine_ended *ended = &one->ended;
        uint64_t until = one->decided_ms != 0 ? one->decided_ms : loop_now_ms();
        uint64_t used_ns = one->usage.has_usage ? one->usage.cpu_ns : 0;

        x->end.word = x->word != UINT32_MAX ? x->word
                      : one->has_ended      ? word_of_command(x)
                                            : word_of_box(x);
        x->end.exit_code = x->end.word == OUTCOME_EXITED ? ended->status : -1;
        if (x->word == UINT32_MAX && one->has_ended && ended->code != CLD_EXITED)
                x->end.signal = ended->status;
        x->end.duration_ms = until - x->started_ms;
        x->end.cpu_ms = used_ns > 0 ? used_ns / 1000000 : ended->cpu_us / 1000;
        x->end.memory_peak_kb =
                ended->max_rss_kb > 0 ? ended->max_rss_kb : one->usage.memory_peak >> 10;
        x->end.reached =
                (uint8_t)((ended->is_disk_full || one->usage.is_over_disk ? OUTCOME_DISK : 0u) |
                          (one->usage.pids_refused > 0 ? OUTCOME_PIDS : 0u));
}
