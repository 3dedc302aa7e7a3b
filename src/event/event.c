/*
 * event/event.c - what happened to a sandbox, made from the rows of event/event.def.
 *
 * Room: event (deciding, pure). Touches: nothing.
 */
#include "event/event.h"

#include <stdio.h>
#include <string.h>

#include "wire/message.h"

enum { WORD_MAX = 128 };

_Static_assert(EVENT_MEMBERS <= 32, "a row has one bit for each member");

#define LEFT_LINE "{host_path}[, now at {kept_at}][: {reason}][ ({count} in all)]"
#define LEFT_MEMBERS HAS(host_path) HAS(kept_at) HAS(reason) HAS(count)

static const struct event_row rows[EVENT_KINDS] = {
#define HAS(member) | 1u << EVENT_HAS_##member
#define EVENT(KIND, name, WORD, READERS, LINE, MEANING, MEMBERS) \
        /* lint: MEMBERS begins with an operator */              \
        [EVENT_##KIND] = { (WORD), (READERS), (LINE), (MEANING), 0 MEMBERS },
#define PLAIN(KIND, name, WORD, READERS, MEANING) \
        [EVENT_##KIND] = { (WORD), (READERS), "", (MEANING), 0 },
#define LEFT(WHAT, KIND, name, WORD, MEANING)                                           \
        [EVENT_##KIND] = { (WORD), EVENT_WATCHED | EVENT_AUDITED, LEFT_LINE, (MEANING), \
                           0 LEFT_MEMBERS },
#define MARK(KIND, name, WORD, MESSAGE, MEANING) \
        [EVENT_##KIND] = { (WORD), EVENT_ASKED, "[{message}]", (MEANING), 0 HAS(message) },
#define NAMED(KIND, name, READERS, MEANING) [EVENT_##KIND] = { NULL, (READERS), "", (MEANING), 0 },
#include "event/event.def"
};

static const enum event_kind left_kinds[KEPT_WHAT_MAX] = {
#define LEFT(WHAT, KIND, name, WORD, MEANING) [KEPT_##WHAT] = EVENT_##KIND,
#define LEFT_TOO(WHAT, KIND) [KEPT_##WHAT] = EVENT_##KIND,
#include "event/event.def"
};

/* -- making one -------------------------------------------------------------------------------- */

#define HAS(member) .member = of.member,
#define EVENT(KIND, name, WORD, READERS, LINE, MEANING, MEMBERS)                        \
        struct event event_##name(struct event_##name of)                               \
        {                                                                               \
                return (struct event){ .kind = EVENT_##KIND, .word = (WORD), MEMBERS }; \
        }
#define PLAIN(KIND, name, WORD, READERS, MEANING)                              \
        struct event event_##name(void)                                        \
        {                                                                      \
                return (struct event){ .kind = EVENT_##KIND, .word = (WORD) }; \
        }
#define MARK(KIND, name, WORD, MESSAGE, MEANING)               \
        struct event event_##name(void)                        \
        {                                                      \
                return (struct event){ .kind = EVENT_##KIND,   \
                                       .word = (WORD),         \
                                       .message = (MESSAGE) }; \
        }
#define NAMED(KIND, name, READERS, MEANING)                                  \
        struct event event_##name(const char *word)                          \
        {                                                                    \
                return (struct event){ .kind = EVENT_##KIND, .word = word }; \
        }
#include "event/event.def"

bool
event_left_behind(unsigned what, struct event_left of, struct event *ret)
{
        if (what == 0 || what >= KEPT_WHAT_MAX)
                return false;
        *ret = (struct event){ .kind = left_kinds[what],
                               .word = rows[left_kinds[what]].word,
                               .host_path = of.host_path,
                               .kept_at = of.kept_at,
                               .reason = of.reason,
                               .count = of.count };
        return true;
}

/* -- the table --------------------------------------------------------------------------------- */

const struct event_row *
event_row(enum event_kind kind)
{
        return &rows[kind];
}

void
event_action(enum event_kind kind, char ret[EVENT_ACTION_ROOM])
{
        const char *word = event_row(kind)->word;
        bool has_noun = strchr(word, '-') != NULL;

        (void)snprintf(ret, EVENT_ACTION_ROOM, "%s%s", has_noun ? "" : "sandbox.", word);
        if (has_noun)
                ret[strcspn(ret, "-")] = '.';
}

enum event_kind
event_find(const char *word)
{
        for (size_t i = 0; i < EVENT_KINDS; i++)
                if (rows[i].word && strcmp(rows[i].word, word) == 0)
                        return (enum event_kind)i;
        return EVENT_REPORTED;
}

bool
event_may_report(const char *word)
{
        size_t len = strlen(word);

        for (size_t i = 0; i < len; i++)
                if (word[i] <= ' ' || word[i] > '~')
                        return false;
        return len > 0 && len <= WORD_MAX && event_find(word) == EVENT_REPORTED;
}
