/*
 * spec/lifecycle.h - names of events (AIP-37), as written in lifecycle and as fired later.
 */
#ifndef CARREL_SPEC_LIFECYCLE_H
#define CARREL_SPEC_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

enum lifecycle_event_kind {
        LIFECYCLE_STANDARD,
        LIFECYCLE_IDLE,       /* idle-N, conversation-idle-N; N is seconds */
        LIFECYCLE_NAMESPACED, /* host:event */
        LIFECYCLE_UNKNOWN,    /* never fires */
};

struct lifecycle_event {
        enum lifecycle_event_kind kind;
        const char
                *name; /* canonical: aliases are resolved. Borrowed from the caller or a constant */
        uint64_t idle_ms; /* LIFECYCLE_IDLE, else UINT64_MAX */
};

/* Parses one event name. Never fails: an unknown name is LIFECYCLE_UNKNOWN. */
void lifecycle_event_read(const char *text, struct lifecycle_event *ret);

#endif
