/*
 * client/watch.c - the stream of events.
 *
 * Room: client (joining). Touches: one unix socket.
 * Events have their own connection, so that calls never have to separate them from answers.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "api/event_record.h"
#include "client/answer.h"
#include "client/connection.h"
#include "clock/clock.h"
#include "wire/call.h"
#include "wire/message.h"

struct carrel_events {
        struct carrel *c;
        struct arena arena; /* of the last event */
        bool is_over;       /* that event was the last */
};

enum { EVENT_BYTES_MAX = 1 << 20 };

int
carrel_watch(struct carrel *c, const char *id, struct carrel_events **ret, struct carrel_error *e)
{
        struct carrel_events *w = calloc(1, sizeof *w);
        struct error inner;

        if (!w) {
                (void)fail(&inner, ERROR_NO_MEMORY, "no memory for events");
                return answer_fail(e, &inner);
        }
        arena_init(&w->arena, EVENT_BYTES_MAX);
        if (connection_again(c, &w->c, &inner) == 0) {
                record_text(connection_begin(w->c), FIELD_ID, id);
                if (connection_call(w->c, OP_WATCH, NULL, NULL, &inner) == 0) {
                        *ret = w;
                        return 0;
                }
        }
        carrel_events_free(w);
        return answer_fail(e, &inner);
}

void
carrel_events_free(struct carrel_events *take_w)
{
        if (!take_w)
                return;
        carrel_close(take_w->c);
        arena_fini(&take_w->arena);
        free(take_w);
}

int
carrel_events_fd(const struct carrel_events *w)
{
        return w->c->socket;
}

static const char *
copy(struct carrel_events *w, const char *text)
{
        return text ? arena_text(&w->arena, text) : NULL;
}

static int
read_event(struct carrel_events *w, const struct wire_message *m, struct carrel_event *ret,
           struct error *e)
{
        struct record r = { w->c->in + sizeof(struct wire_call),
                            m->len - sizeof(struct wire_call) };
        struct outcome end;
        struct event event;

        if (m->len < sizeof(struct wire_call) || record_check(&r) < 0)
                return fail(e, ERROR_PROTOCOL, "an event of the daemon is malformed");
        if (event_record_read(&r, &event, &end) < 0)
                return fail(e, ERROR_PROTOCOL, "an event of the daemon lacks its name");
        arena_fini(&w->arena);
        arena_init(&w->arena, EVENT_BYTES_MAX);
        *ret = (struct carrel_event){
                .event = copy(w, event.word),
                .at_ms = event.from.at_ms,
                .id = copy(w, event.from.id),
                .status = copy(w, event.from.status),
                .cause = copy(w, event.from.cause),
                .outcome = answer_text(&w->arena, &r, FIELD_OUTCOME),
                .exit_code = (int)record_get_int(&r, FIELD_EXIT_CODE, -1),
                .has_end = event.end != NULL,
#define COPY_TEXT(member) .member = copy(w, event.member),
#define COPY_UINT(member) .member = (__typeof__(ret->member))event.member,
#define COPY_ENDING(member)
#define MEMBER(TAG, member, TYPE) COPY_##TYPE(member)
#include "event/event.def"
        };
        if (event.end)
                answer_end(event.end, &ret->end);
        w->is_over = event.kind == EVENT_OVERFLOW;
        return answer_check(&w->arena, e) < 0 ? -1 : 1;
}

static int
next(struct carrel_events *w, int timeout_ms, struct carrel_event *ret, struct error *e)
{
        uint64_t until = timeout_ms < 0 ? CLOCK_NEVER : clock_boot_ms() + (uint64_t)timeout_ms;

        if (w->is_over)
                return fail(e, ERROR_CONNECTION_LOST,
                            "events came faster than they were read, and were lost");
        for (;;) {
                struct wire_message m;
                struct pollfd p = { w->c->socket, POLLIN, 0 };
                int got = wire_receive(w->c->socket, 0, &m, w->c->in, WIRE_BODY_MAX);

                if (got > 0)
                        wire_message_close(&m);
                if (got > 0 && m.kind == WIRE_EVENT)
                        return read_event(w, &m, ret, e);
                if (got > 0)
                        continue;
                if (got == 0)
                        return fail(e, ERROR_CONNECTION_LOST,
                                    "the daemon went away; its events end here");
                if (got != -EAGAIN)
                        return fail(e, ERROR_PROTOCOL,
                                    "the daemon does not speak this program's language");
                if (clock_poll(&p, 1, until) == 0)
                        return 0;
        }
}

int
carrel_events_next(struct carrel_events *w, int timeout_ms, struct carrel_event *ret,
                   struct carrel_error *e)
{
        struct error inner;
        int got = next(w, timeout_ms, ret, &inner);

        return got < 0 ? answer_fail(e, &inner) : got;
}
