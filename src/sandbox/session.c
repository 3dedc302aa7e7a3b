/*
 * sandbox/session.c - one run in progress: its clock, its outcome, its end.
 *
 * Room: sandbox (joining). Touches: clock, the backend.
 */
#include "sandbox/session.h"

#include <unistd.h>

#include "clock/clock.h"
#include "spec/spec.h"

uint64_t
session_after(uint64_t start, uint64_t span)
{
        return span == SPEC_UNSET || span > SESSION_NEVER - start ? SESSION_NEVER : start + span;
}

bool
session_is_in_background(const struct session *s)
{
        pid_t group = s->o->in < 0 ? -1 : tcgetpgrp(s->o->in);

        return group > 0 && group != getpgrp();
}

void
session_decide(struct session *s, enum outcome_word word)
{
        if (s->is_decided)
                return;
        s->is_decided = true;
        s->outcome.word = word;
        s->outcome.exit_code = -1;
        s->outcome.duration_ms = clock_boot_ms() - s->started;
}

void
session_kill(struct session *s)
{
        if (!s->is_killed)
                s->o->backend->kill(s->box);
        s->is_killed = true;
}

void
session_end(struct session *s, enum outcome_word word)
{
        session_decide(s, word);
        s->is_cut = true;
        session_kill(s);
}

void
session_fail(struct session *s, const struct error *e)
{
        if (s->error.code == ERROR_NONE)
                s->error = *e;
}

void
session_abandon_output(struct session *s)
{
        stream_abandon(&s->out);
        stream_abandon(&s->err);
}
