/*
 * run/session.c - one run in progress: its errors, its end.
 *
 * Room: run (joining). Touches: the box's socket, the caller's terminal.
 */
#include "run/session.h"

#include <unistd.h>

#include "spec/spec.h"
#include "wire/message.h"

uint64_t
session_after(uint64_t start, uint64_t span)
{
        return span == SPEC_UNSET || span > SESSION_NEVER - start ? SESSION_NEVER : start + span;
}

bool
session_is_in_background(const struct session *s)
{
        pid_t group = s->o->in < 0 || session_is_net_only(s) ? -1 : tcgetpgrp(s->o->in);

        return group > 0 && group != getpgrp();
}

void
session_say(const struct session *s, uint16_t kind, const void *body, size_t len)
{
        (void)wire_send(s->box, kind, body, len, NULL, 0);
}

void
session_kill(struct session *s)
{
        const struct wire_box_kill kill = { .exec = SESSION_EXEC, .word = OUTCOME_KILLED };

        session_say(s, WIRE_BOX_KILL, &kill, sizeof kill);
        s->grace = SESSION_NEVER;
}

void
session_fail(struct session *s, const struct error *e)
{
        if (s->error.code == ERROR_NONE)
                s->error = *e;
}

void
session_break(struct session *s, const struct error *e)
{
        session_fail(s, e);
        s->is_broken = s->is_cut = true;
        session_kill(s);
}

void
session_abandon_output(struct session *s)
{
        stream_abandon(&s->out);
        stream_abandon(&s->err);
}
