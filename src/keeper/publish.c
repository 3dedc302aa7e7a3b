/*
 * keeper/publish.c - gives what happened to a sandbox to everyone who reads it: the log, watchers.
 *
 * Room: keeper (joining). Touches: clock, standard error.
 * Theory: an event is built once, as the row of event/event.def says, and each reader gets the same
 * struct. A reader that keeps it copies it: its texts are borrowed. Events are numbered in the
 * order in which they happened, over all sandboxes of this keeper.
 */
#include <inttypes.h>
#include <stdio.h>

#include "keeper/audit.h"
#include "keeper/changed.h"
#include "keeper/executed.h"
#include "keeper/sandbox.h"

enum { MORE_ROOM = 160 };

/* Names and messages are text from others: it stays on one line. */
static void
log_event(const struct event *e)
{
        char line[EVENT_LINE_ROOM], exec[32] = "";

        event_line(e, line);
        for (char *c = line; *c != '\0'; c++)
                *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
        if (e->exec != 0)
                (void)snprintf(exec, sizeof exec, ", exec %" PRIu64, e->exec);
        (void)fprintf(stderr, "carrel-keeper: %s %s (sandbox %s%s)\n", e->word, line, e->from.id,
                      exec);
}

void
sandbox_publish(struct sandbox *s, struct event e)
{
        unsigned readers = event_row(e.kind)->readers;

        e.from = (struct event_source){ .number = ++s->keeper->last_event,
                                        .at_ms = loop_wall_ms(),
                                        .owner = s->row.owner,
                                        .id = s->id,
                                        .status = sandbox_status(s),
                                        .cause = s->row.cause };
        metrics_count(&s->keeper->metrics, &e);
        if ((readers & EVENT_LOGGED) != 0)
                log_event(&e);
        if ((readers & EVENT_AUDITED) != 0)
                audit_event(s, &e);
        if ((readers & EVENT_WATCHED) != 0)
                watch_publish(s, &e);
}

void
publish_exec(struct sandbox *s, const struct wire_box_listed *l, bool is_end)
{
        struct event_exec_ended ended = { .exec = l->exec };
        struct outcome end;

        if (!is_end) {
                sandbox_publish(s, event_exec_started((struct event_exec_started){ l->exec }));
                return;
        }
        executed_flush(s);
        if (!changed_exec_ended(s, l))
                audit_exec_ended(s, l);
        if (answer_exec_outcome(s->box, l, &end))
                ended.end = &end;
        sandbox_publish(s, event_exec_ended(ended));
}

struct event
denied_event(const struct wire_box_denied *denied, struct denied_words *words)
{
        const struct wire_wall_denied *d = &denied->d;

        answer_denied_words(d, words);
        return event_egress_denied((struct event_egress_denied){
                .exec = denied->exec,
                .reason = words->reason,
                .host = d->host,
                .port = d->port,
                .address = words->address[0] != '\0' ? words->address : NULL,
                .said = d->other[0] != '\0' ? d->other : NULL,
                .count = d->count,
                .message = words->message });
}

void
publish_denied(struct sandbox *s, const struct wire_box_denied *denied)
{
        struct denied_words words;

        sandbox_publish(s, denied_event(denied, &words));
}

void
publish_denied_more(struct sandbox *s, unsigned count)
{
        char message[MORE_ROOM];

        (void)snprintf(message, sizeof message,
                       "%u more requests to the network were refused within a second; GET "
                       "/v1/sandboxes/%s/denials lists the last",
                       count, s->id);
        sandbox_publish(s, event_egress_denied((struct event_egress_denied){ .count = count,
                                                                             .message = message }));
}

void
publish_found(struct sandbox *s, const struct wire_box_found *one)
{
        struct wire_kept words;
        struct event e;

        if (event_left_behind(one->kept.what, answer_kept(&one->kept, &words), &e))
                sandbox_publish(s, e);
}
