/*
 * bridge/session.c - which message of a provider's program may come next.
 *
 * Room: bridge (joining). Touches: nothing.
 * Theory: numbers of requests only grow, so a number below the last one that is not open has ended.
 */
#include "bridge/session.h"

#include <stdio.h>
#include <string.h>

void
bridge_session_init(struct bridge_session *s)
{
        memset(s, 0, sizeof *s);
}

uint32_t
bridge_session_open(struct bridge_session *s, unsigned is_command)
{
        for (size_t i = 0; i < BRIDGE_REQUESTS_MAX && s->last_id < UINT32_MAX; i++) {
                if (s->requests[i].id != 0)
                        continue;
                s->requests[i] = (struct bridge_request){ .id = ++s->last_id,
                                                          .is_command = is_command,
                                                          .credit = BRIDGE_CREDIT,
                                                          .input = BRIDGE_CREDIT };
                return s->last_id;
        }
        return 0;
}

struct bridge_request *
bridge_session_find(struct bridge_session *s, uint32_t id)
{
        for (size_t i = 0; i < BRIDGE_REQUESTS_MAX && id != 0; i++)
                if (s->requests[i].id == id)
                        return &s->requests[i];
        return NULL;
}

static int
wrong(struct error *e, const char *reason, const struct bridge_message *m, const char *why)
{
        return fail_at(e, ERROR_PROTOCOL, "provider", reason,
                       "the provider's program broke the bridge protocol: %s: \"%s\" (id %u): %s",
                       reason, bridge_kind_word(m->kind), m->id, why);
}

static int
greet(struct bridge_session *s, const struct bridge_message *m, struct error *e)
{
        if (s->has_greeted)
                return wrong(e, "greeted_twice", m, "a greeting comes once");
        if (m->protocol != BRIDGE_VERSION)
                return wrong(e, "version", m, "this Carrel speaks version 1");
        s->has_greeted = 1;
        s->abilities = m->abilities;
        (void)snprintf(s->name, sizeof s->name, "%s", m->name);
        return 0;
}

/* A message about a running command. */
static int
take_part(struct bridge_request *r, const struct bridge_message *m, struct error *e)
{
        if (m->kind == BRIDGE_CREDIT_GIVEN) {
                r->input += m->bytes;
                return 0;
        }
        if (m->kind == BRIDGE_STARTED) {
                if (r->is_started)
                        return wrong(e, "order", m, "it has started already");
                r->is_started = 1;
                return 0;
        }
        if (!r->is_started)
                return wrong(e, "order", m, "it has not started");
        if (m->kind == BRIDGE_OUTPUT && m->len > r->credit)
                return wrong(e, "flood", m, "more output than its credit");
        if (m->kind == BRIDGE_OUTPUT)
                r->credit -= m->len;
        return 0;
}

int
bridge_session_take(struct bridge_session *s, const struct bridge_message *m, unsigned *ret_is_end,
                    struct error *e)
{
        struct bridge_request *r = bridge_session_find(s, m->id);

        *ret_is_end = 0;
        if (m->kind == BRIDGE_HELLO)
                return greet(s, m, e);
        if (!s->has_greeted)
                return wrong(e, "no_greeting", m, "a greeting comes first");
        if (!r && m->id <= s->last_id)
                return m->kind == BRIDGE_CREDIT_GIVEN /* it crossed the end on the way */
                               ? 0
                               : wrong(e, "answered_twice", m, "this request has ended");
        if (!r)
                return wrong(e, "unasked", m, "no request has this number");
        *ret_is_end =
                m->kind == BRIDGE_REPLY || m->kind == BRIDGE_ERROR || m->kind == BRIDGE_EXITED;
        if (m->kind == BRIDGE_REPLY ? r->is_command : m->kind != BRIDGE_ERROR && !r->is_command)
                return wrong(e, "order", m, "this request is not answered so");
        if (m->kind != BRIDGE_REPLY && m->kind != BRIDGE_ERROR && take_part(r, m, e) < 0)
                return -1;
        if (*ret_is_end)
                r->id = 0;
        return 0;
}

enum bridge_ability
bridge_session_lacks(const struct bridge_session *s, uint32_t wanted)
{
        for (int i = 0; i < BRIDGE_ABILITIES; i++)
                if ((wanted & ~s->abilities & 1u << i) != 0)
                        return (enum bridge_ability)i;
        return BRIDGE_ABILITIES;
}
