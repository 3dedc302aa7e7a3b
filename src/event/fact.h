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

#endif
