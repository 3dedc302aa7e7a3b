/*
 * event/fact.h - what a box reports of its commands, as events.
 */
#ifndef CARREL_EVENT_FACT_H
#define CARREL_EVENT_FACT_H

#include "event/event.h"
#include "wire/gate.h"

/* `a` has a terminated, printable host; `address` is text, "" if it is not known. Both are
 * borrowed. */
struct event event_of_allowed(const struct wire_box_allowed *a, const char *address);

/* So many further connections were allowed. */
struct event event_of_allowed_more(uint64_t count);

/* -- executions -------------------------------------------------------------------------------- */

/* FACT_COMMAND_ROOM: each byte may become four. */
enum {
        FACT_PATH_ROOM = 4 * WIRE_EXECUTED_PATH + 8,
        FACT_COMMAND_ROOM = 6 * WIRE_EXECUTED_WORDS + 8
};

/* The texts of an event; it borrows them. */
struct event_executed_texts {
        uint32_t missed; /* executions before this one that were not reported */
        char path[FACT_PATH_ROOM], command[FACT_COMMAND_ROOM];
};

/*
 * The body of WIRE_BOX_EXECUTED. Words are written as a shell would read them; bytes that are not
 * printable ASCII as $'\xNN'. 0, or -1: malformed.
 */
int event_of_executed(const void *body, size_t len, struct event_executed_texts *ret_texts,
                      struct event *ret);

/* So many further executions. */
struct event event_of_executed_more(uint64_t count);

#endif
