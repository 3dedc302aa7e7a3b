/*
 * event/fact.c - what a box reports of its commands, as events.
 *
 * Room: event (deciding, pure). Touches: nothing.
 */
#include "event/fact.h"

/* A count of 1 says nothing. */
static uint64_t
count_of(uint64_t count)
{
        return count > 1 ? count : 0;
}

static const char *
text_of(const char *text)
{
        return text[0] != '\0' ? text : NULL;
}

struct event
event_of_allowed_more(uint64_t count)
{
        return event_egress_allowed((struct event_egress_allowed){ .count = count });
}

struct event
event_of_allowed(const struct wire_box_allowed *a, const char *address)
{
        const struct wire_wall_allowed *d = &a->a;

        if (d->host[0] == '\0')
                return event_of_allowed_more(d->count);
        if (d->is_end != 0)
                return event_egress_ended(
                        (struct event_egress_ended){ .exec = a->exec,
                                                     .host = d->host,
                                                     .port = d->port,
                                                     .address = text_of(address),
                                                     .bytes_out = d->bytes_out,
                                                     .bytes_in = d->bytes_in,
                                                     .duration_ms = d->duration_ms,
                                                     .count = count_of(d->count) });
        return event_egress_allowed((struct event_egress_allowed){ .exec = a->exec,
                                                                   .host = d->host,
                                                                   .port = d->port,
                                                                   .address = text_of(address),
                                                                   .count = count_of(d->count) });
}
