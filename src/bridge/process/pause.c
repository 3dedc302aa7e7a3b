/*
 * bridge/process/pause.c - pauses the sandbox elsewhere, and resumes it.
 *
 * Room: bridge/process (program). Touches: fd.
 *
 *     running --pause--> asked --reply--> paused --resume--> asked --reply--> running
 *                          '--error--> running                 '--error--> paused
 *
 * Theory: what the box wants may change while an answer is on its way, so one request is open at a
 * time, and the next follows from its answer. Commands wait until the sandbox runs again, so a
 * program that does not answer ends, and its sandbox with it.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "bridge/process/relay.h"
#include "wire/box.h"

enum { PATIENCE_MS = 180000, BROKEN = 1 };

/* A pause that failed is not wanted any more. */
static void
answer(struct relay *r, int sys)
{
        const struct wire_exec_number said = { 1, sys };

        if (sys != 0)
                r->pause.wants = 0;
        for (; r->pause.unanswered > 0; r->pause.unanswered--)
                relay_say_box(r, WIRE_BOX_FROZEN, &said, sizeof said);
}

/* Nobody knows whether the sandbox runs. */
static void
too_late(struct loop_timer *t)
{
        (void)t;
        _exit(BROKEN);
}

static void
ask(struct relay *r, unsigned asks_pause)
{
        struct pause *p = &r->pause;
        struct json_writer w;

        p->asks_pause = asks_pause;
        p->asked = bridge_session_open(&r->provider.session, 0);
        if (p->asked == 0) {
                answer(r, EAGAIN);
                if (!asks_pause)
                        task_fail_waiting(r, EAGAIN, NULL);
                return;
        }
        (void)loop_timer_set(r->loop, &r->patience, loop_now_ms() + PATIENCE_MS, too_late);
        json_init(&w, false);
        bridge_begin(&w, asks_pause ? "pause" : "resume", p->asked);
        json_member_text(&w, "sandbox", r->sandbox);
        bridge_end(&w);
        provider_say(&r->provider, &w);
        json_fini(&w);
}

/* Without a sandbox nothing runs; what the host file promises is known all the same. */
static void
settle_without(struct relay *r)
{
        r->pause.is_paused = 0;
        answer(r, (r->needs & 1u << BRIDGE_CAN_PAUSE) != 0 ? 0 : EOPNOTSUPP);
}

void
pause_settle(struct relay *r)
{
        struct pause *p = &r->pause;

        if (p->asked != 0 || (r->state != RELAY_READY && r->state != RELAY_IDLE))
                return; /* what comes of it settles it */
        if (r->state == RELAY_IDLE)
                settle_without(r);
        else if (p->wants == p->is_paused)
                answer(r, p->is_paused ? 0 : ECANCELED);
        else if ((r->provider.session.abilities & 1u << BRIDGE_CAN_PAUSE) == 0)
                answer(r, EOPNOTSUPP);
        else
                ask(r, p->wants);
}

void
pause_want(struct relay *r, unsigned is_wanted)
{
        r->pause.wants = is_wanted;
        r->pause.unanswered += is_wanted;
        pause_settle(r);
}

int
pause_lets_through(struct relay *r)
{
        if (!r->pause.is_paused && r->pause.asked == 0)
                return 1;
        pause_settle(r);
        return 0;
}

int
pause_heard(struct relay *r, const struct bridge_message *m, unsigned is_end)
{
        struct pause *p = &r->pause;

        if (p->asked == 0 || m->id != p->asked || !is_end)
                return 0;
        p->asked = 0;
        loop_timer_remove(&r->patience);
        if (m->kind == BRIDGE_REPLY)
                p->is_paused = p->asks_pause;
        if (m->kind == BRIDGE_REPLY) {
                pause_settle(r);
        } else if (p->asks_pause) {
                answer(r, m->code == BRIDGE_CODE_UNSUPPORTED ? EOPNOTSUPP : EIO);
        } else {
                task_fail_waiting(r, EIO, m->text);
        }
        if (!p->is_paused && p->asked == 0)
                task_send_all(r);
        return 1;
}
