/*
 * gate/turn.c - a scheduler for the work of all walls.
 *
 * Room: gate (acting). Touches: nothing.
 * Theory: a queue that was empty is fresh, and runs before those that wait. When its part is used
 * up, or it has no more work, it goes behind them. So a wall with little work is not delayed by
 * busy walls, and one that only appears to have little is fresh once per round. Cost beyond a part
 * is subtracted in the next rounds.
 */
#include "gate/turn.h"

static void
append(struct turn_list *l, struct turn *turn)
{
        turn->next = NULL;
        *l->last = turn;
        l->last = &turn->next;
}

static void
take_out(struct turn_list *l, const struct turn *turn)
{
        struct turn **at = &l->first;

        while (*at && *at != turn)
                at = &(*at)->next;
        if (!*at)
                return;
        *at = turn->next;
        if (l->last == &turn->next)
                l->last = at;
}

void
turns_init(struct turns *t, uint64_t (*now_us)(void))
{
        *t = (struct turns){ .now_us = now_us };
        t->fresh = (struct turn_list){ NULL, &t->fresh.first };
        t->waiting = (struct turn_list){ NULL, &t->waiting.first };
}

bool
turns_are_over(const struct turns *t)
{
        return !t->fresh.first && !t->waiting.first;
}

void
turn_begin(struct turns *t, struct turn *turn)
{
        *turn = (struct turn){ .turns = t, .state = TURN_IDLE };
        turn->last = &turn->first;
}

static void
set_state(struct turn *turn, enum turn_state state)
{
        struct turns *t = turn->turns;

        if (turn->state == TURN_FRESH)
                take_out(&t->fresh, turn);
        if (turn->state == TURN_WAITING)
                take_out(&t->waiting, turn);
        turn->state = state;
        if (state == TURN_FRESH)
                append(&t->fresh, turn);
        if (state == TURN_WAITING)
                append(&t->waiting, turn);
}

void
job_end(struct job *j)
{
        if (!j->turn)
                return;
        *j->back = j->next;
        if (j->next)
                j->next->back = j->back;
        else
                j->turn->last = j->back;
        j->turn = NULL;
}

void
turn_end(struct turn *turn)
{
        if (!turn->turns)
                return;
        while (turn->first)
                job_end(turn->first);
        set_state(turn, TURN_IDLE);
        turn->turns = NULL;
}

void
turn_want(struct turn *turn, struct job *j, void (*run)(struct job *j))
{
        j->run = run;
        if (j->turn || !turn->turns || (turn->only && turn->only != j))
                return;
        j->turn = turn;
        j->next = NULL;
        j->back = turn->last;
        *turn->last = j;
        turn->last = &j->next;
        if (turn->state == TURN_IDLE && !turn->is_paused) {
                turn->left = TURN_PART;
                set_state(turn, TURN_FRESH);
        }
}

void
turn_close(struct turn *turn, struct job *j, void (*run)(struct job *j))
{
        while (turn->first)
                job_end(turn->first);
        turn->only = j;
        turn->is_paused = false;
        turn_want(turn, j, run);
}

void
turn_use(struct turn *turn, size_t cost)
{
        turn->left -= (int64_t)cost;
        if (turn->turns)
                turn->turns->said += (int64_t)cost;
}

/*
 * Adds the time beyond the declared cost, at most one part: the kernel may have run other processes
 * meanwhile.
 */
static void
settle(struct turn *turn)
{
        struct turns *t = turn->turns;
        uint64_t now;
        int64_t more;

        if (!t || !t->now_us)
                return;
        now = t->now_us();
        more = (int64_t)(now - t->since_us) - t->said;
        if (more > 0)
                turn->left -= more < TURN_PART ? more : TURN_PART;
        t->since_us = now;
        t->said = 0;
}

static bool
is_spent(const struct turn *turn)
{
        return turn->left <= 0 || turn->is_paused;
}

bool
turn_is_used(struct turn *turn)
{
        settle(turn);
        return is_spent(turn);
}

void
turn_pause(struct turn *turn)
{
        turn->is_paused = true;
}

void
turn_resume(struct turn *turn)
{
        turn->is_paused = false;
        if (!turn->turns || turn->state != TURN_IDLE || !turn->first)
                return;
        if (turn->left <= 0)
                turn->left += TURN_PART;
        set_state(turn, TURN_WAITING);
}

/* Runs the jobs of a wall, one after the other, within its part. The clock is read once a job. */
static void
run_jobs(struct turn *turn)
{
        struct turns *t = turn->turns;

        t->since_us = t->now_us ? t->now_us() : 0;
        t->said = 0;
        while (turn->first && !is_spent(turn)) {
                struct job *j = turn->first;

                job_end(j);
                turn_use(turn, TURN_JOB);
                j->run(j);
                settle(turn);
        }
}

void
turns_take(struct turns *t)
{
        struct turn *turn = t->fresh.first ? t->fresh.first : t->waiting.first;

        if (!turn)
                return;
        run_jobs(turn);
        if (!turn->turns) /* its wall ended, and is freed later */
                return;
        if (turn->is_paused ||
            (turn->left > 0 && (turn->state == TURN_WAITING || !t->waiting.first))) {
                set_state(turn, TURN_IDLE);
                return;
        }
        if (turn->left <= 0)
                turn->left += TURN_PART;
        /* even an empty queue: its next job runs after those that wait now */
        set_state(turn, TURN_WAITING);
}
