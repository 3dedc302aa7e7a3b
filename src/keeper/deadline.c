/*
 * keeper/deadline.c - time: lifetimes, scheduled deletions, idleness, tasks.
 *
 * Room: keeper (joining). Touches: clock, the store.
 * Theory (N10): a lifetime ends at a moment of the boot clock. A jump of the wall clock neither
 * shortens nor extends it, and a pause does not reset it. The row also has the remaining time as of
 * its last write, which counts after a reboot. A live box ends itself at its deadline. The keeper's
 * own timer comes later and is for sandboxes without a box.
 */
#include <stdlib.h>
#include <string.h>

#include "base/switches.h"
#include "keeper/sandbox.h"
#include "keeper/usage.h"
#include "outcome/outcome.h"
#include "spec/lifecycle.h"

enum { WALL_LOOK_MS = 60000, CHECKPOINT_MS = 60000, BOX_GRACE_MS = 2000 };

/* A test sees what `carrel doc verify` says of a daemon that ends nothing. */
static bool
is_switched_off(void)
{
#ifdef CARREL_TEST_SWITCHES
        const char *text = getenv("CARREL_TEST_DEADLINES");

        return text && strcmp(text, "none") == 0;
#else
        return false;
#endif
}

uint64_t
deadline_add(uint64_t deadline_ms, uint64_t now_ms, uint64_t span_ms)
{
        uint64_t from = deadline_ms < now_ms ? now_ms : deadline_ms;

        if (deadline_ms == STORE_NEVER || is_switched_off() || span_ms >= STORE_NEVER - from)
                return STORE_NEVER;
        return from + span_ms;
}

uint64_t
deadline_remaining(const struct sandbox *s, uint64_t now_ms)
{
        if (s->row.deadline_ms == STORE_NEVER)
                return STORE_NEVER;
        return s->row.deadline_ms > now_ms ? s->row.deadline_ms - now_ms : 0;
}

int
sandbox_save(struct sandbox *s, struct error *e)
{
        s->row.remaining_ms = deadline_remaining(s, loop_now_ms());
        s->row.is_paused = s->state == SANDBOX_PAUSED;
        return store_sandbox_write(s->keeper->store, &s->row, e);
}

/* -- the end of a lifetime --------------------------------------------------------------------- */

static void
on_life(struct loop_timer *t)
{
        struct sandbox *s = (struct sandbox *)t;
        struct error e;
        bool has_box = s->box && !s->box->peer.is_broken && s->state != SANDBOX_FAILED;

        if (s->row.delete_at_ms != 0 && s->row.delete_at_ms <= loop_wall_ms())
                (void)sandbox_stop(s, "deleted", &e);
        else if (deadline_remaining(s, loop_now_ms()) == 0 &&
                 (!has_box || loop_now_ms() >= s->row.deadline_ms + BOX_GRACE_MS))
                (void)sandbox_stop(s, "deadline", &e);
        else
                deadline_arm(s);
}

void
deadline_arm(struct sandbox *s)
{
        uint64_t now = loop_now_ms(), wall = loop_wall_ms(), due = s->row.deadline_ms,
                 at = s->row.delete_at_ms;

        if (due != STORE_NEVER && due <= now)
                due = s->box ? deadline_add(due, due, BOX_GRACE_MS) : now;
        if (at != 0) { /* the wall clock may jump: check it again soon */
                uint64_t wait =
                        at > wall ? (at - wall < WALL_LOOK_MS ? at - wall : WALL_LOOK_MS) : 0;

                due = due < now + wait ? due : now + wait;
        }
        if (s->state != SANDBOX_STOPPING)
                (void)loop_timer_set(s->keeper->loop, &s->life, due, on_life);
}

/* -- idleness ---------------------------------------------------------------------------------- */

struct idle {
        uint64_t pause_ms, destroy_ms;
        const char *pause_name, *destroy_name;
};

static struct idle
idle_of(const struct sandbox *s)
{
        const struct spec_lifecycle *l = s->prepared ? &s->prepared->spec->lifecycle : NULL;
        struct idle idle = { STORE_NEVER, STORE_NEVER, NULL, NULL };
        struct lifecycle_event event;

        if (!l || !s->row.owner || s->state == SANDBOX_FAILED || s->state == SANDBOX_STOPPING)
                return idle;
        if (l->pause_event && l->pause_idle_ms != SPEC_UNSET && s->state == SANDBOX_RUNNING) {
                idle.pause_ms = l->pause_idle_ms;
                idle.pause_name = l->pause_event;
        }
        if (l->destroy_on) {
                lifecycle_event_read(l->destroy_on, &event);
                idle.destroy_ms = event.kind == LIFECYCLE_IDLE ? event.idle_ms : STORE_NEVER;
                idle.destroy_name = l->destroy_on;
        }
        return idle;
}

static void
on_idle(struct loop_timer *t)
{
        struct sandbox *s = (struct sandbox *)(void *)((char *)t - offsetof(struct sandbox, idle));
        struct idle idle = idle_of(s);
        uint64_t now = loop_now_ms();

        if (s->state == SANDBOX_RUNNING &&
            ((s->box && box_running(s->box) > 0) || s->ports_in_use > 0))
                return; /* the end of the last command or connection sets the timer again */
        if (idle.destroy_ms != STORE_NEVER &&
            deadline_add(s->active_ms, s->active_ms, idle.destroy_ms) <= now)
                sandbox_event(s, idle.destroy_name);
        else if (idle.pause_ms != STORE_NEVER &&
                 deadline_add(s->active_ms, s->active_ms, idle.pause_ms) <= now)
                sandbox_event(s, idle.pause_name);
        else
                deadline_arm_idle(s);
}

void
deadline_arm_idle(struct sandbox *s)
{
        struct idle idle = idle_of(s);
        uint64_t span = idle.pause_ms < idle.destroy_ms ? idle.pause_ms : idle.destroy_ms;

        if (span == STORE_NEVER)
                loop_timer_remove(&s->idle);
        else
                (void)loop_timer_set(s->keeper->loop, &s->idle,
                                     deadline_add(s->active_ms, s->active_ms, span), on_idle);
}

/* -- storing the remaining time ---------------------------------------------------------------- */

static void
on_checkpoint(struct loop_timer *t)
{
        deadline_checkpoint(
                (struct keeper *)(void *)((char *)t - offsetof(struct keeper, checkpoint)));
}

void
deadline_checkpoint(struct keeper *k)
{
        struct error e;

        registry_remove_rows(k);
        usage_ask(k);
        (void)loop_timer_set(k->loop, &k->checkpoint, loop_now_ms() + CHECKPOINT_MS, on_checkpoint);
        for (struct sandbox *s = k->first; s; s = s->next) {
                if (s->row.deadline_ms == STORE_NEVER && s->state != SANDBOX_FAILED)
                        continue;
                if (store_begin(k->store, &e) < 0)
                        return;
                for (; s; s = s->next)
                        if (s->state != SANDBOX_STOPPING)
                                (void)sandbox_save(s, &e);
                (void)store_commit(k->store, &e);
                return;
        }
}

/* -- tasks ------------------------------------------------------------------------------------- */

static void
on_task(struct loop_timer *t)
{
        struct task *task = (struct task *)t;
        struct sandbox *s = task->sandbox;
        bool is_client = client_is_task(task->name);
        struct wire_box_kill kill = { .word = is_client ? OUTCOME_KILLED : OUTCOME_TIMED_OUT };
        struct error e;

        memcpy(kill.task, task->name, sizeof kill.task);
        if (s->box)
                (void)box_send(s->box, WIRE_BOX_KILL, &kill, sizeof kill);
        (void)store_task_remove(s->keeper->store, s->id, task->name, &e);
        task_remove(task);
        if (!is_client)
                sandbox_publish(s,
                                event_task_timed_out((struct event_task_timed_out){ kill.task }));
}

struct task *
task_find(const struct sandbox *s, const char *name)
{
        struct task *t = s->tasks;

        while (t && strcmp(t->name, name) != 0)
                t = t->next;
        return t;
}

int
task_begin(struct sandbox *s, const char *name, uint64_t deadline_ms, struct error *e)
{
        bool is_client = client_is_task(name);
        struct task *t;

        if (is_client && s->client_count >= SANDBOX_CLIENTS_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "at most %d clients at once have background processes in a sandbox",
                            SANDBOX_CLIENTS_MAX);
        if (!is_client && s->task_count >= SANDBOX_TASKS_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "a sandbox has at most %d tasks at once",
                            SANDBOX_TASKS_MAX);
        t = calloc(1, sizeof *t);
        if (!t)
                return fail(e, ERROR_NO_MEMORY, "no memory for a task");
        t->sandbox = s;
        t->deadline_ms = deadline_ms;
        (void)memccpy(t->name, name, '\0', sizeof t->name - 1);
        t->next = s->tasks;
        s->tasks = t;
        *(is_client ? &s->client_count : &s->task_count) += 1;
        (void)loop_timer_set(s->keeper->loop, &t->timer, deadline_ms, on_task);
        return 0;
}

void
task_extend(struct task *t, uint64_t deadline_ms)
{
        t->deadline_ms = deadline_ms;
        (void)loop_timer_set(t->sandbox->keeper->loop, &t->timer, deadline_ms, on_task);
}

void
task_remove(struct task *t)
{
        struct sandbox *s = t->sandbox;

        for (struct task **at = &s->tasks; *at; at = &(*at)->next) {
                if (*at == t) {
                        *at = t->next;
                        break;
                }
        }
        *(client_is_task(t->name) ? &s->client_count : &s->task_count) -= 1;
        loop_timer_remove(&t->timer);
        free(t);
}
