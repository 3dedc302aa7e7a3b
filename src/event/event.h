/*
 * event/event.h - what happened to a sandbox: one struct for every event, and a function for each
 * kind that makes one.
 *
 * event_stopped(), event_exec_ended(), ...: the rows of event/event.def. A caller adds of what
 * sandbox and when (struct event_source). Texts are borrowed. api/event_record.h writes an event
 * into a record or as JSON, and reads it back.
 */
#ifndef CARREL_EVENT_EVENT_H
#define CARREL_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcome/outcome.h"

enum event_kind {
#define EVENT(KIND, name, WORD, READERS, LINE, MEANING, MEMBERS) EVENT_##KIND,
#define PLAIN(KIND, name, WORD, READERS, MEANING) EVENT_##KIND,
#define LEFT(WHAT, KIND, name, WORD, MEANING) EVENT_##KIND,
#define MARK(KIND, name, WORD, MESSAGE, MEANING) EVENT_##KIND,
#define NAMED(KIND, name, READERS, MEANING) EVENT_##KIND,
#include "event/event.def"
        EVENT_KINDS
};

enum event_reader {
        EVENT_WATCHED = 1u << 0, /* every watcher of the sandbox's owner */
        EVENT_LOGGED = 1u << 1,  /* the log of the daemon */
        EVENT_ASKED = 1u << 2,   /* only the call that asked for it */
        EVENT_AUDITED = 1u << 3  /* the audit log of the sandbox's owner */
};

enum event_member {
#define MEMBER(TAG, member, TYPE) EVENT_HAS_##member,
#include "event/event.def"
        EVENT_MEMBERS
};

/* The C type of a member. */
#define EVENT_TYPE_TEXT const char *
#define EVENT_TYPE_UINT uint64_t
#define EVENT_TYPE_ENDING const struct outcome *

/* Of what, and when. NULL and 0: not known, and not written. */
struct event_source {
        uint64_t number; /* grows with each event of one daemon; not written */
        uint64_t at_ms;  /* wall clock */
        const char *owner /* not written */, *id, *status, *cause;
};

struct event {
        enum event_kind kind;
        const char *word; /* as every client sees it */
        struct event_source from;
#define MEMBER(TAG, member, TYPE) EVENT_TYPE_##TYPE member;
#include "event/event.def"
};

/* -- making one -------------------------------------------------------------------------------- */

#define HAS(member) __typeof__(((struct event *)0)->member) member;
#define EVENT(KIND, name, WORD, READERS, LINE, MEANING, MEMBERS) \
        struct event_##name {                                    \
                MEMBERS                                          \
        };                                                       \
        struct event event_##name(struct event_##name of);
#define PLAIN(KIND, name, WORD, READERS, MEANING) struct event event_##name(void);
#define MARK(KIND, name, WORD, MESSAGE, MEANING) struct event event_##name(void);
#define NAMED(KIND, name, READERS, MEANING) struct event event_##name(const char *word);
#include "event/event.def"

/* What a command left behind: `what` is an enum wire_kept_what (wire/message.h). */
struct event_left {
        const char *host_path, *kept_at, *reason;
        uint64_t count; /* 0: one */
};
/* false: an unknown `what`. */
bool event_left_behind(unsigned what, struct event_left of, struct event *ret);

/* -- the table --------------------------------------------------------------------------------- */

struct event_row {
        const char *word; /* NULL: any other */
        unsigned readers; /* enum event_reader, one bit each */
        const char *line, *meaning;
        uint32_t members; /* enum event_member, one bit each */
};
const struct event_row *event_row(enum event_kind kind);

/* The kind with this word. EVENT_REPORTED if no row has it. */
enum event_kind event_find(const char *word);

/*
 * May a caller report an event with this word? Not a word of the table, and 1 to 128 printable
 * characters of ASCII without a space, so that it stays one word in every stream and log.
 */
bool event_may_report(const char *word);

enum { EVENT_LINE_ROOM = 8192, EVENT_ACTION_ROOM = 64 };

/* The action of the audit log for this kind: its word with the first "-" as "." ("egress.allowed");
 * "sandbox.created" for a word without one. */
void event_action(enum event_kind kind, char ret[EVENT_ACTION_ROOM]);

/*
 * Writes what happened for people, without word, time and sandbox, to `ret` (EVENT_LINE_ROOM
 * bytes); "" if the word says it all. Texts are copied as they are: escape them for a terminal.
 */
void event_line(const struct event *e, char *ret);

#endif
