/*
 * keeper/call.c - one call from its start to its answer.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: a call that must wait is kept whole. It starts from the beginning when its wait is over,
 * because the state that it reads may have changed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keeper/approval.h"
#include "keeper/audit.h"
#include "keeper/judging.h"
#include "keeper/judging_gate.h"
#include "keeper/keeper.h"
#include "keeper/rate.h"
#include "keeper/secret.h"
#include "keeper/turns.h"
#include "keeper/validating.h"

void
call_end(struct call *c)
{
        struct connection *connection = c->connection;

        for (struct call **at = connection ? &connection->calls : NULL; at && *at;
             at = &(*at)->next_of_connection) {
                if (*at == c) {
                        *at = c->next_of_connection;
                        connection->call_count--;
                        break;
                }
        }
        audit_forget(c);
        secret_forget(c);
        approval_forget(c);
        validating_forget(c);
        judging_forget(c);
        turns_forget(c);
        explicit_bzero(c + 1, c->record.len); /* the environment of a command may hold secrets */
        free(c);
}

void
call_fail(struct call *c, const struct error *e)
{
        audit_call_failed(c, e);
        reply_error(c, e);
        call_end(c);
}

void
call_begin(struct call *c)
{
        struct error e = { .code = ERROR_NONE };
        enum call_state state = rate_take(c, &e) < 0 ? CALL_FAILED : judging_gate(c, &e);

        if (state == CALL_DONE)
                state = approval_gate(c, &e);
        if (state == CALL_DONE)
                state = call_function(c->op->code)(c, &e);
        switch (state) {
        case CALL_DONE:
                call_end(c);
                return;
        case CALL_FAILED:
                call_fail(c, &e);
                return;
        case CALL_WAITS:
                return;
        }
}

void
call_continue(struct call *c)
{
        if (c->is_cancelled || !c->connection)
                call_end(c);
        else
                call_begin(c);
}

/* -- answers ----------------------------------------------------------------------------------- */

struct record_writer
reply_begin(struct call *c)
{
        struct record_writer w;

        record_init(&w, c->keeper->out + sizeof(struct wire_reply),
                    sizeof c->keeper->out - sizeof(struct wire_reply));
        return w;
}

static void
send_out(struct connection *connection, uint16_t kind, size_t len, int take_fd)
{
        struct keeper *k = connection->keeper;

        if (peer_send(&connection->peer, kind, k->out, len, &take_fd, take_fd >= 0 ? 1 : 0) < 0) {
                connection->is_condemned = true;
                k->needs_sweep = true;
        }
}

void
reply_send(struct call *c, struct record_writer *w, unsigned flags, int take_fd)
{
        struct wire_reply head = { c->serial, flags };
        struct error e;

        if (w->is_broken) {
                if (take_fd >= 0)
                        (void)close(take_fd);
                (void)fail(&e, ERROR_INTERNAL, "the answer is too long for one message");
                if ((flags & REPLY_ERROR) == 0)
                        reply_error(c, &e);
                return;
        }
        if (!c->connection || c->connection->is_condemned) {
                if (take_fd >= 0)
                        (void)close(take_fd);
                return;
        }
        memcpy(c->keeper->out, &head, sizeof head);
        send_out(c->connection, WIRE_REPLY, sizeof head + w->len, take_fd);
}

void
reply_error(struct call *c, const struct error *e)
{
        struct record_writer w = reply_begin(c);

        api_error_write(&w, e);
        reply_send(c, &w, REPLY_ERROR, -1);
}

void
reply_event(struct connection *connection, uint32_t serial, struct record_writer *w)
{
        struct wire_call head = { .serial = serial, .protocol = CALL_PROTOCOL };

        if (w->is_broken || connection->is_condemned)
                return;
        _Static_assert(sizeof(struct wire_call) == sizeof(struct wire_reply),
                       "an event stands where a reply does");
        memcpy(connection->keeper->out, &head, sizeof head);
        send_out(connection, WIRE_EVENT, sizeof head + w->len, -1);
}
